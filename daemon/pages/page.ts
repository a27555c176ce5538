import type { ClientOperations, Contact } from '../../lib/index.ts'
import type { Content, Say } from './layout.ts'

/** A valid link that was opened. */
export interface Visit {
  readonly contact: Contact
  /** The list to confirm, on the page to confirm. */
  readonly listId: number | undefined
  /** The operations of the contact's client. Their changes are recorded as the contact's own. */
  readonly client: ClientOperations
  readonly say: Say
}

/** A page of a contact. */
export interface Page {
  /** Answers GET. Changes nothing, because mail scanners follow links. */
  show(visit: Visit): Promise<Content>
  /** Answers POST. */
  submit(visit: Visit, form: FormData): Promise<Content>
}
