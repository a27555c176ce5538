import { sql } from 'kysely'
import { deleteRows } from '../jobs/batches.ts'
import { int, nullable, statement, text, time, word } from '../storage/statement.ts'
import type { Role } from './schema.ts'

const clientColumns = ['id', 'uuid', 'name', 'created_at'] as const

export const insertClient = statement({ uuid: text, name: text, created_at: time }, (db, row) =>
  db.insertInto('mailkeep_client').values(row).returning(clientColumns),
)

export const listClients = statement.all({}, (db) =>
  db.selectFrom('mailkeep_client').select(clientColumns).where('deleted_at', 'is', null).orderBy('id'),
)

export const findClient = statement({ id: int }, (db, p) =>
  db.selectFrom('mailkeep_client').select(clientColumns).where('id', '=', p.id).where('deleted_at', 'is', null),
)

/** Locks the client's row until the transaction ends. */
export const lockClient = statement({ id: int }, (db, p, dialect) =>
  db.selectFrom('mailkeep_client').select('id').where('id', '=', p.id).modifyEnd(dialect.forUpdate),
)

export const findAnyClient = statement({}, (db) => db.selectFrom('mailkeep_client').select('id').limit(1))

export const renameClient = statement({ id: int, name: text }, (db, p) =>
  db
    .updateTable('mailkeep_client')
    .set({ name: p.name })
    .where('id', '=', p.id)
    .where('deleted_at', 'is', null)
    .returning(clientColumns),
)

/** Hides the client immediately. Its rows are deleted in batches later. */
export const markClientDeleted = statement({ id: int, deleted_at: time }, (db, p) =>
  db
    .updateTable('mailkeep_client')
    .set({ deleted_at: p.deleted_at })
    .where('id', '=', p.id)
    .where('deleted_at', 'is', null)
    .returning('id'),
)

export const insertToken = statement(
  {
    client_id: int,
    hash: text,
    name: nullable(text),
    role: word<Role>(),
    created_at: time,
    expires_at: nullable(time),
  },
  (db, row) => db.insertInto('mailkeep_token').values(row).returningAll(),
)

export const listTokens = statement.all({ client_id: nullable(int) }, (db, p) =>
  db
    .selectFrom('mailkeep_token')
    .select(['id', 'client_id', 'name', 'role', 'created_at', 'expires_at', 'last_used_at', 'revoked_at'])
    .where((eb) => eb.or([eb(p.client_id, 'is', null), eb('client_id', '=', p.client_id)]))
    .orderBy('id'),
)

export const findValidToken = statement({ hash: text, now: time }, (db, p) =>
  db
    .selectFrom('mailkeep_token as token')
    .innerJoin('mailkeep_client as client', 'client.id', 'token.client_id')
    .select(['token.id', 'token.client_id', 'token.role', 'token.expires_at', 'token.last_used_at'])
    .where('token.hash', '=', p.hash)
    .where('token.revoked_at', 'is', null)
    .where((eb) => eb.or([eb('token.expires_at', 'is', null), eb('token.expires_at', '>', p.now)]))
    .where('client.deleted_at', 'is', null),
)

export const markTokenUsed = statement({ id: int, last_used_at: time }, (db, p) =>
  db.updateTable('mailkeep_token').set({ last_used_at: p.last_used_at }).where('id', '=', p.id),
)

/** Switches off all endpoints of a client, so that its due deliveries are held instead of claimed. */
export const switchOffEndpointsOf = statement({ client_id: int }, (db, p) =>
  db
    .updateTable('mailkeep_endpoint')
    .set({ active: sql.lit(false), disabled_reason: 'manual' })
    .where('client_id', '=', p.client_id),
)

/** Revokes a token, unless it is revoked already. */
export const revokeToken = statement({ id: int, revoked_at: time }, (db, p) =>
  db
    .updateTable('mailkeep_token')
    .set({ revoked_at: p.revoked_at })
    .where('id', '=', p.id)
    .where('revoked_at', 'is', null)
    .returning('client_id'),
)

export const findToken = statement({ id: int }, (db, p) =>
  db.selectFrom('mailkeep_token').select('id').where('id', '=', p.id),
)

export const listClientTokens = statement.range({ client_id: int }, (db, p) =>
  db
    .selectFrom('mailkeep_token')
    .select(['id', 'name', 'role', 'created_at', 'expires_at', 'last_used_at'])
    .where('client_id', '=', p.client_id)
    .where('revoked_at', 'is', null),
)

export const findClientToken = statement({ client_id: int, id: int, now: time }, (db, p) =>
  db
    .selectFrom('mailkeep_token')
    .select(['id', 'name', 'role', 'created_at', 'expires_at', 'last_used_at'])
    .where('client_id', '=', p.client_id)
    .where('id', '=', p.id)
    .where('revoked_at', 'is', null)
    .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', p.now)])),
)

export const revokeClientToken = statement({ client_id: int, id: int, revoked_at: time }, (db, p) =>
  db
    .updateTable('mailkeep_token')
    .set({ revoked_at: p.revoked_at })
    .where('client_id', '=', p.client_id)
    .where('id', '=', p.id)
    .where('revoked_at', 'is', null)
    .returning('id'),
)

/** Deletes tokens that expired or were revoked before this time. A scan: the table is small. */
export const deleteOldTokens = statement.affected(
  { before: time, limit: int },
  (_, p) => sql`delete from mailkeep_token where id in
    (select id from mailkeep_token where expires_at < ${p.before} or revoked_at < ${p.before} limit ${p.limit})`,
)

export const deleteTokensOf = deleteRows('mailkeep_token', 'client_id')

export const deleteClient = deleteRows('mailkeep_client', 'id')
