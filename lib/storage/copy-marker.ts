import { MailkeepError } from '../errors.ts'
import { type Scope, statement, text } from './statement.ts'

/** Name of the setting that exists while rows are being copied into the database. Its value is the progress. */
export const copySetting = 'copy'

const findSetting = statement({ name: text }, (db, p) =>
  db.selectFrom('mailkeep_setting').select('name').where('name', '=', p.name),
)

/**
 * Refuses a database whose copy is incomplete.
 *
 * @throws MailkeepError `conflict`
 */
export async function refuseIncompleteCopy(scope: Scope): Promise<void> {
  if (!(await findSetting(scope, { name: copySetting }))) return
  throw new MailkeepError('conflict', 'A copy into this database is not finished: run mailkeep copy again.')
}
