import type { RouteDocs } from '../operation.ts'
import { contactExtensions, contacts } from './contacts.ts'
import { eventExtensions } from './events.ts'
import { identities } from './identities.ts'
import { listExtensions } from './lists.ts'
import { tags } from './tags.ts'
import { topicExtensions } from './topics.ts'
import { webhookExtensions, webhooks } from './webhooks.ts'

/** Routes that the description groups under one tag. */
export interface Chapter {
  readonly tag: string
  readonly description: string
  readonly isExtension: boolean
  readonly routes: RouteDocs
}

/** All groups in the order of the description: first the routes of the contract. */
export const chapters: readonly Chapter[] = [
  chapter('Tags', 'Names that organise contacts.', tags),
  chapter('Contacts', 'Contacts and their lists.', contacts),
  chapter('Webhook endpoints', 'Receivers of events. Only for admins.', webhooks),
  chapter('Email identities', 'Sender addresses, read-only over HTTP.', identities),
  extension('Contacts', 'import, export, erasure, resubscription, topics.', contactExtensions),
  extension('Lists', 'managing lists.', listExtensions),
  extension('Topics', 'managing the topics of lists.', topicExtensions),
  extension('Webhook endpoints', 'single endpoints and deliveries, redelivery, recovery.', webhookExtensions),
  extension('Events', 'events of the host app. Only for admins.', eventExtensions),
]

function chapter(tag: string, description: string, routes: RouteDocs): Chapter {
  return { tag, description, isExtension: false, routes }
}

function extension(slice: string, description: string, routes: RouteDocs): Chapter {
  return {
    tag: `Extensions: ${slice.toLowerCase()}`,
    description: `Beyond the contract: ${description}`,
    isExtension: true,
    routes,
  }
}
