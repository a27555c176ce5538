/** Settings of the pages on which contacts unsubscribe, choose lists and topics, and confirm. */
import { audit } from '../audit/operations.ts'
import { lockClient } from '../clients/operations.ts'
import type { Context } from '../context.ts'
import { deleteRows } from '../jobs/batches.ts'
import { parse } from '../parse.ts'
import { int, statement, text } from '../storage/statement.ts'
import { transact } from '../storage/transaction.ts'
import { type PageSettings, PageSettingsChange, type PageSettingsInput } from './schema.ts'

const findPageSettings = statement({ client_id: int }, (db, p) =>
  db.selectFrom('mailkeep_page_settings').select('settings').where('client_id', '=', p.client_id),
)

const savePageSettings = statement({ client_id: int, settings: text }, (db, row) =>
  db
    .insertInto('mailkeep_page_settings')
    .values(row)
    .onConflict((c) => c.column('client_id').doUpdateSet({ settings: row.settings })),
)

export const deletePageSettingsOfClient = deleteRows('mailkeep_page_settings', 'client_id', 'client_id')

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
  const row = await findPageSettings(ctx, { client_id: ctx.clientId })
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
    await savePageSettings(tx, { client_id: tx.clientId, settings: JSON.stringify(settings) })
    audit(tx, 'pages.updated', tx.clientId)
    return settings
  })
}
