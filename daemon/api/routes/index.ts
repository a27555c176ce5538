import { auditExtensions } from './audit.ts'
import { consentExtensions } from './consent.ts'
import { contactChanges } from './contact-changes.ts'
import { contactExtensions, contacts } from './contacts.ts'
import { eventExtensions } from './events.ts'
import { identities, identityExtensions } from './identities.ts'
import { importExtensions } from './imports.ts'
import { listExtensions } from './lists.ts'
import { newsletterExtensions } from './newsletters.ts'
import type { Route } from './route.ts'
import { segmentExtensions } from './segments.ts'
import { sequenceExtensions } from './sequences.ts'
import { settingExtensions } from './settings.ts'
import { statsExtensions } from './stats.ts'
import { tags } from './tags.ts'
import { tokenExtensions } from './tokens.ts'
import { topicExtensions } from './topics.ts'
import { webhookExtensions, webhooks } from './webhooks.ts'

/** Routes that the description groups under one tag. */
export interface Chapter {
  readonly tag: string
  readonly description: string
  readonly isExtension: boolean
  readonly routes: readonly Route[]
}

/** All routes in the order of the description: first those of the contract, then those that operating requires. */
export const chapters: readonly Chapter[] = [
  chapter('Tags', 'Names that organise contacts.', tags),
  chapter('Contacts', 'Contacts and their lists.', contacts),
  chapter('Webhook endpoints', 'Receivers of events. Only for admins.', webhooks),
  chapter('Email identities', 'Sender addresses.', identities),
  extension('contacts', 'changes, count, export, erasure, resubscription, topics.', [
    ...contactExtensions,
    ...contactChanges,
  ]),
  extension('imports', 'contacts from files, and the progress.', importExtensions),
  extension(
    'consent',
    'the history of contacts, double opt-in, and addresses that must not be mailed.',
    consentExtensions,
  ),
  extension('lists', 'managing lists.', listExtensions),
  extension('topics', 'managing the topics of lists.', topicExtensions),
  extension('email identities', 'adding and deleting sender addresses. Only for admins.', identityExtensions),
  extension('segments', 'named filters of contacts.', segmentExtensions),
  extension('newsletters', 'mail to many contacts.', newsletterExtensions),
  extension('sequences', 'series of mail to each contact. Only admins change them.', sequenceExtensions),
  extension('settings', 'settings of the client. Only for admins.', settingExtensions),
  extension('webhook endpoints', 'single endpoints and deliveries, redelivery, recovery.', webhookExtensions),
  extension('events', 'events of the host app. Only for admins.', eventExtensions),
  extension('tokens', 'the client’s tokens. Only for admins.', tokenExtensions),
  extension('statistics', 'counts over time.', statsExtensions),
  extension('audit log', 'who changed what. Only for admins.', auditExtensions),
]

function chapter(tag: string, description: string, routes: readonly Route[]): Chapter {
  return { tag, description, isExtension: false, routes }
}

function extension(slice: string, description: string, routes: readonly Route[]): Chapter {
  return { tag: `Extensions: ${slice}`, description: `Beyond the contract: ${description}`, isExtension: true, routes }
}

export const routes: readonly Route[] = chapters.flatMap((chapter) => chapter.routes)
