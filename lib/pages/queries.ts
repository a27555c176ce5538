import { deleteRows } from '../jobs/batches.ts'
import { int, statement, text } from '../storage/statement.ts'

export const findPageSettings = statement({ client_id: int }, (db, p) =>
  db.selectFrom('mailkeep_page_settings').select('settings').where('client_id', '=', p.client_id),
)

export const savePageSettings = statement({ client_id: int, settings: text }, (db, row) =>
  db
    .insertInto('mailkeep_page_settings')
    .values(row)
    .onConflict((c) => c.column('client_id').doUpdateSet({ settings: row.settings })),
)

export const deletePageSettingsOfClient = deleteRows('mailkeep_page_settings', 'client_id', 'client_id')
