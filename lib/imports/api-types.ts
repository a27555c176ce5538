/**
 * Types of the operations, with the documentation that editors show. Written by `npm run reference` from lib/bind.ts and
 * the docstrings of the operations: change them, not this file.
 */
import type { Page, PageInput } from '../page.ts'
import type { Import } from './schema.ts'

/** The progress of imports: `mailkeep.forClient(id).imports` */
export interface ImportsApi {
  /**
   * Returns one page of the client's imports, newest first. Imports are kept for 30 days.
   *
   * @throws MailkeepError `validation_failed`
   */
  list(query?: PageInput): Promise<Page<Import>>
  /**
   * Returns an import with its progress, which is updated once a second.
   *
   * @throws MailkeepError `not_found`
   */
  get(id: number): Promise<Import>
}
