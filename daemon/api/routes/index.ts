import { contactExtensions, contacts } from './contacts.ts'
import { eventExtensions } from './events.ts'
import { identities } from './identities.ts'
import { listExtensions } from './lists.ts'
import type { Route } from './route.ts'
import { tags } from './tags.ts'
import { topicExtensions } from './topics.ts'
import { webhookExtensions, webhooks } from './webhooks.ts'

/** The routes of the contract. */
export const contract: readonly Route[] = [...tags, ...contacts, ...webhooks, ...identities]

/** Routes beyond the contract that operating the service requires. */
export const extensions: readonly Route[] = [
  ...contactExtensions,
  ...listExtensions,
  ...topicExtensions,
  ...webhookExtensions,
  ...eventExtensions,
]

export const routes: readonly Route[] = [...contract, ...extensions]
