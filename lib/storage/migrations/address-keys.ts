/** Gives addresses with an internationalised domain the key that both of its spellings have. */
import { sql } from 'kysely'
import { foldAddress } from '../../parse.ts'
import type { Migration } from '../migrate.ts'
import { int, type Scope, statement, text } from '../statement.ts'

const maxRowsPerBatch = 1000

type Table = 'mailkeep_contact' | 'mailkeep_identity' | 'mailkeep_suppression'

/** @param isUnique Whether a client has each key once. The first row that gets a key has it, and others stay as they are. */
function rekeying(table: Table, isUnique: boolean): (scope: Scope) => Promise<void> {
  const name = sql.table(table)
  const listInternational = statement.all(
    { after: int, limit: int },
    (_, p) => sql<{ id: number; client_id: number; email: string; email_key: string }>`
      select id, client_id, email, email_key from ${name}
      where id > ${p.after} and octet_length(email) <> length(email) order by id limit ${p.limit}`,
  )
  const updateKeys = statement.each({ id: int, client_id: int, email_key: text }, (item, from) => {
    const holder = sql`select 1 from ${name} as other where other.client_id = ${item.client_id}
      and other.email_key = ${item.email_key}`
    return sql`update ${name} set email_key = ${item.email_key} ${from}
      where ${sql.ref(`${table}.id`)} = ${item.id} ${isUnique ? sql`and not exists (${holder})` : sql``}`
  })
  return async (scope) => {
    for (let after = 0; ; ) {
      const found = await listInternational(scope, { after, limit: maxRowsPerBatch })
      if (found.length === 0) return
      after = found.at(-1)!.id
      const changed = new Map<string | number, { id: number; client_id: number; email_key: string }>()
      for (const { id, client_id, email, email_key: oldKey } of found) {
        const email_key = foldAddress(email)
        const owner = isUnique ? `${client_id} ${email_key}` : id
        if (email_key !== oldKey && !changed.has(owner)) changed.set(owner, { id, client_id, email_key })
      }
      if (changed.size > 0) await updateKeys(scope, [...changed.values()])
    }
  }
}

const rekeyings = [
  rekeying('mailkeep_contact', true),
  rekeying('mailkeep_identity', true),
  rekeying('mailkeep_suppression', false),
]

export const addressKeys: Migration = {
  name: '027-address-keys',
  statements: [],
  change: async (scope) => {
    for (const rekey of rekeyings) await rekey(scope)
  },
}
