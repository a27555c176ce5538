import { MailkeepError } from '../errors.ts'
import { type Scope, statement, text } from './statement.ts'

/** The setting that is there while rows are being copied in; it holds how far that has come. */
export const copySetting = 'copy'

const findSetting = statement({ name: text }, (db, p) =>
  db.selectFrom('mailkeep_setting').select('name').where('name', '=', p.name),
)

/**
 * Nobody works with half of a database.
 *
 * @throws MailkeepError `conflict`
 */
export async function refuseIncompleteCopy(scope: Scope): Promise<void> {
  if (!(await findSetting(scope, { name: copySetting }))) return
  throw new MailkeepError('conflict', 'A copy into this database is not finished: run mailkeep copy again.')
}
