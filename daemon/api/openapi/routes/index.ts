import type { DescribedRoutes } from '../operation.ts'
import { contactExtensions, contacts } from './contacts.ts'
import { eventExtensions } from './events.ts'
import { identities } from './identities.ts'
import { listExtensions } from './lists.ts'
import { tags } from './tags.ts'
import { topicExtensions } from './topics.ts'
import { webhookExtensions, webhooks } from './webhooks.ts'

/** Routes that are shown together. */
export interface Chapter {
  readonly tag: string
  readonly description: string
  readonly isExtension: boolean
  readonly routes: DescribedRoutes
}

/** What a reader sees one after another: the contract's own routes first. */
export const chapters: readonly Chapter[] = [
  chapter('Tags', 'Names to organise contacts with.', tags),
  chapter('Contacts', 'Contacts and their lists.', contacts),
  chapter('Webhook endpoints', 'Where events are sent; for admins.', webhooks),
  chapter('Email identities', 'Sender addresses; over HTTP they are only read.', identities),
  extension('Contacts', 'erase, subscribe again, topics.', contactExtensions),
  extension('Lists', 'lists themselves.', listExtensions),
  extension('Topics', 'topics of lists.', topicExtensions),
  extension('Webhook endpoints', 'one endpoint, one delivery, sending again.', webhookExtensions),
  extension('Events', 'what the host app tells; for admins.', eventExtensions),
]

function chapter(tag: string, description: string, routes: DescribedRoutes): Chapter {
  return { tag, description, isExtension: false, routes }
}

function extension(slice: string, description: string, routes: DescribedRoutes): Chapter {
  return {
    tag: `Extensions: ${slice.toLowerCase()}`,
    description: `Beyond the contract: ${description}`,
    isExtension: true,
    routes,
  }
}
