/**
 * Types of the operations, with the documentation that editors show. Written by `npm run reference` from lib/bind.ts and
 * the docstrings of the operations: change them, not this file.
 */
import type { PageSettings, PageSettingsInput } from './schema.ts'

/** How the client's pages for contacts look: `mailkeep.forClient(id).settings.pages` */
export interface PageSettingsApi {
  /** Returns how the client's pages for contacts look. */
  get(): Promise<PageSettings>
  /**
   * Replaces the settings of the client's pages for contacts. Absent fields are reset.
   *
   * @throws MailkeepError `validation_failed`
   */
  update(input: PageSettingsInput): Promise<PageSettings>
}
