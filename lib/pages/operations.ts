/** Settings of the pages on which contacts unsubscribe, choose lists and topics, and confirm. */
import { audit } from '../audit/operations.ts'
import { lockClient } from '../clients/operations.ts'
import type { Context } from '../context.ts'
import { parse } from '../parse.ts'
import { transact } from '../storage/transaction.ts'
import * as queries from './queries.ts'
import { type PageSettings, PageSettingsChange, type PageSettingsInput } from './schema.ts'

export { deletePageSettingsOfClient } from './queries.ts'

const initial: PageSettings = {
  name: null,
  colour: null,
  logo_url: null,
  language: null,
  texts: {},
  postal_address: null,
}

/** Returns how the client's pages for contacts look. */
export async function getPageSettings(ctx: Context): Promise<PageSettings> {
  const row = await queries.findPageSettings(ctx, { client_id: ctx.clientId })
  return row ? { ...initial, ...(JSON.parse(row.settings) as PageSettings) } : { ...initial }
}

/**
 * Replaces the settings of the client's pages for contacts. Absent fields are reset.
 *
 * @throws MailkeepError `validation_failed`
 */
export async function updatePageSettings(ctx: Context, input: PageSettingsInput): Promise<PageSettings> {
  const settings = parse(PageSettingsChange, input) as PageSettings
  return transact(ctx, async (tx) => {
    await lockClient(tx)
    await queries.savePageSettings(tx, { client_id: tx.clientId, settings: JSON.stringify(settings) })
    await audit(tx, 'pages.updated', tx.clientId)
    return settings
  })
}
