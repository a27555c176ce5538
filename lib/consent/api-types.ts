/**
 * Types of the operations, with the documentation that editors show. Written by `npm run reference` from lib/bind.ts and
 * the docstrings of the operations: change them, not this file.
 */
import type { Page, PageInput } from '../page.ts'
import type { Suppression, SuppressionInput } from './schema.ts'

/** Addresses that must not be mailed: `mailkeep.forClient(id).suppressions` */
export interface SuppressionsApi {
  /**
   * Returns one page of the client's suppressions, by ascending id.
   *
   * @throws MailkeepError `validation_failed`
   */
  list(query?: PageInput): Promise<Page<Suppression>>
  /**
   * Suppresses an address: it is not mailed, whether or not a contact has it. A contact with it can still be stored. An
   * address that is suppressed already keeps its reason.
   *
   * @returns The suppression, and whether it is new.
   * @throws MailkeepError `validation_failed` on `email`
   */
  create(input: SuppressionInput): Promise<{ suppression: Suppression; created: boolean }>
  /**
   * Removes a suppression, so that the address can be mailed, and stored if it was erased.
   *
   * @throws MailkeepError `not_found`
   */
  delete(id: number): Promise<void>
}
