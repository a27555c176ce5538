import { deleteRows } from '../jobs/batches.ts'
import { recordStatements } from '../storage/records.ts'
import { int, nullable, statement, text, time, word } from '../storage/statement.ts'
import type { IdentityStatus } from './schema.ts'

export const identities = recordStatements('mailkeep_identity')

export const listIdentities = statement.range(
  { client_id: int, identity_status: word<IdentityStatus>() },
  (db, p, _, { byStatus }) =>
    db
      .selectFrom('mailkeep_identity')
      .selectAll()
      .where('client_id', '=', p.client_id)
      .$if(byStatus, (q) => q.where('identity_status', '=', p.identity_status)),
  ['byStatus'],
)

/** Inserts the identity. Returns undefined if the client already has the address. */
export const insertIdentity = statement(
  {
    client_id: int,
    uuid: text,
    email: text,
    email_key: text,
    name: text,
    domain: text,
    identity_status: word<IdentityStatus>(),
    verified_at: nullable(time),
    created_at: time,
    updated_at: time,
  },
  (db, row) =>
    db
      .insertInto('mailkeep_identity')
      .values(row)
      .onConflict((c) => c.columns(['client_id', 'email_key']).doNothing())
      .returningAll(),
)

export const updateStatus = statement(
  { client_id: int, id: int, identity_status: word<IdentityStatus>(), verified_at: nullable(time), updated_at: time },
  (db, p) =>
    db
      .updateTable('mailkeep_identity')
      .set({ identity_status: p.identity_status, verified_at: p.verified_at, updated_at: p.updated_at })
      .where('client_id', '=', p.client_id)
      .where('id', '=', p.id)
      .returningAll(),
)

/** Lists the identities of all clients whose verification is not finished. */
export const listUnverified = statement.all({ after: int, limit: int }, (db, p) =>
  db
    .selectFrom('mailkeep_identity')
    .selectAll()
    .where('identity_status', 'in', ['pending', 'verifying'])
    .where('id', '>', p.after)
    .orderBy('id')
    .limit(p.limit),
)

/** Finds the address among those of other clients. A scan: it runs only when the provider has verified an address. */
export const findOfAnotherClient = statement({ client_id: int, email_key: text }, (db, p) =>
  db
    .selectFrom('mailkeep_identity')
    .select('id')
    .where('email_key', '=', p.email_key)
    .where('client_id', '<>', p.client_id)
    .limit(1),
)

export const deleteIdentitiesOfClient = deleteRows('mailkeep_identity', 'client_id')
