/** Values of mailkeep's own that the database stores by name, for all processes. */
import { type Scope, statement, text } from './statement.ts'

export const findSetting = statement({ name: text }, (db, p) =>
  db.selectFrom('mailkeep_setting').select('value').where('name', '=', p.name),
)

const insertSetting = statement({ name: text, value: text }, (db, row) =>
  db
    .insertInto('mailkeep_setting')
    .values(row)
    .onConflict((c) => c.doNothing()),
)

export const saveSetting = statement({ name: text, value: text }, (db, row) =>
  db
    .insertInto('mailkeep_setting')
    .values(row)
    .onConflict((c) => c.column('name').doUpdateSet({ value: row.value })),
)

/** Returns a setting. Creates it at the first use: if several processes do, the first one wins. */
export async function ensureSetting(scope: Scope, name: string, create: () => string): Promise<string> {
  const found = await findSetting(scope, { name })
  if (found) return found.value
  await insertSetting(scope, { name, value: create() })
  return (await findSetting(scope, { name }))!.value
}
