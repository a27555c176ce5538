import { hash, randomBytes, randomUUID } from 'node:crypto'
import { type Context, now, type Tx } from '../context.ts'
import { deleteDependents } from '../deletion/operations.ts'
import { invalid, MailkeepError, notFound } from '../errors.ts'
import { parse, requireId } from '../parse.ts'
import { transact } from '../storage/transaction.ts'
import { msOf, timestamp } from '../time.ts'
import * as queries from './queries.ts'
import {
  Bootstrap,
  type Client,
  clientFrom,
  NewClient,
  type NewToken,
  NewTokenInput,
  type Principal,
  type Role,
  type Token,
  TokenFilter,
  tokenFrom,
} from './schema.ts'
import type { KnownToken } from './token-cache.ts'

/** @throws MailkeepError `validation_failed` */
export async function createClient(ctx: Context, input: unknown): Promise<Client> {
  const { name } = parse(NewClient, input)
  return transact(ctx, (tx) => addClient(tx, name))
}

export async function listClients(ctx: Context): Promise<Client[]> {
  return (await queries.listClients(ctx, {})).map(clientFrom)
}

/** @throws MailkeepError `not_found` */
export async function getClient(ctx: Context, id: number): Promise<Client> {
  requireId('clientId', id)
  const row = await queries.findClient(ctx, { id })
  if (!row) throw notFound('client')
  return clientFrom(row)
}

/**
 * Renames a client.
 *
 * @param input `{ name }`
 * @throws MailkeepError `not_found`, `validation_failed`
 */
export async function renameClient(ctx: Context, id: number, input: unknown): Promise<Client> {
  const { name } = parse(NewClient, input)
  return transact(ctx, async (tx) => {
    requireId('clientId', id)
    const row = await queries.renameClient(tx, { id, name })
    if (!row) throw notFound('client')
    return clientFrom(row)
  })
}

/**
 * Deletes a client with all its records. Its tokens open nothing from the commit on, and its deliveries in flight are
 * aborted. Many rows are deleted in batches, by a stored job.
 *
 * @throws MailkeepError `not_found`
 */
export async function deleteClient(ctx: Context, id: number): Promise<void> {
  return transact(ctx, async (tx) => {
    requireId('clientId', id)
    const deleted_at = now(tx)
    if (!(await queries.markClientDeleted(tx, { id, deleted_at }))) throw notFound('client')
    await queries.switchOffEndpointsOf(tx, { client_id: id, active: false })
    await queries.revokeTokensOf(tx, { client_id: id, revoked_at: deleted_at })
    tx.transaction.afterCommit(() => {
      tx.tokens.clear()
      tx.abortDeliveries(({ clientId }) => clientId === id)
    })
    await deleteDependents({ ...tx, clientId: id }, 'client', id)
  })
}

/**
 * Makes a first client, "default", with an admin token; nothing where there is a client already.
 *
 * @param input `{ token? }`: a token of the caller's own instead of a random one.
 * @throws MailkeepError `validation_failed`
 */
export async function bootstrap(
  ctx: Context,
  input: unknown = {},
): Promise<{ client: Client; token: NewToken } | undefined> {
  const { token = newToken() } = parse(Bootstrap, input)
  return transact(ctx, async (tx) => {
    if (await queries.findAnyClient(tx, {})) return undefined
    await queries.lockFirstClient(tx, {})
    if (await queries.findAnyClient(tx, {})) return undefined // two daemons may start on one empty database
    const client = await addClient(tx, 'default')
    return {
      client,
      token: await addToken(tx, { clientId: client.id, name: null, role: 'admin', expiresAt: null, token }),
    }
  })
}

/**
 * Makes a token; it is shown this once and stored as its SHA-256.
 *
 * @param input `{ clientId, role, expiresInMs?, name? }`
 * @throws MailkeepError `validation_failed`, `not_found`: no such client.
 */
export async function createToken(ctx: Context, input: unknown): Promise<NewToken> {
  const { clientId, role, expiresInMs, name = null } = parse(NewTokenInput, input)
  return transact(ctx, async (tx) => {
    await getClient(tx, clientId)
    return await addToken(tx, { clientId, name, role, expiresAt: expiryOf(tx, expiresInMs), token: newToken() })
  })
}

/** @throws MailkeepError `validation_failed` */
export async function listTokens(ctx: Context, filter: unknown = {}): Promise<Token[]> {
  const { clientId } = parse(TokenFilter, filter)
  return (await queries.listTokens(ctx, { client_id: clientId ?? null })).map(tokenFrom)
}

/**
 * Revokes a token; from then on it opens nothing.
 *
 * @throws MailkeepError `not_found`
 */
export async function revokeToken(ctx: Context, id: number): Promise<void> {
  return transact(ctx, async (tx) => {
    requireId('tokenId', id)
    if (!(await queries.revokeToken(tx, { id, revoked_at: now(tx) }))) throw notFound('token')
    tx.transaction.afterCommit(() => tx.tokens.clear())
  })
}

/** @returns whom the token stands for; undefined when it is unknown, revoked or expired, or its client is gone. */
export async function authenticate(ctx: Context, token: string): Promise<Principal | undefined> {
  if (typeof token !== 'string') throw invalid('token', 'token must be a string.')
  const tokenHash = hashOf(token)
  const version = await ctx.storage.version()
  const nowMs = ctx.clock()
  const known = ctx.tokens.find(tokenHash, version, nowMs) ?? (await lookUp(ctx, tokenHash, version))
  if (!known) return undefined
  // A host's transaction may have ended before the note, which nobody waits for, is made.
  if (nowMs - known.usedMs >= 60_000 && !ctx.tokens.outer) {
    known.usedMs = nowMs
    noteUse(ctx, known.id)
  }
  return known.principal
}

async function lookUp(ctx: Context, tokenHash: string, version: number): Promise<KnownToken | undefined> {
  const { epoch } = ctx.tokens
  const row = await queries.findGoodToken(ctx, { hash: tokenHash, now: now(ctx) })
  if (!row) return undefined
  const known: KnownToken = {
    id: row.id,
    principal: { clientId: row.client_id, role: row.role, tokenId: row.id },
    expiresMs: row.expires_at === null ? undefined : msOf(row.expires_at),
    usedMs: row.last_used_at === null ? 0 : msOf(row.last_used_at),
    version,
    knownMs: ctx.clock(),
  }
  ctx.tokens.keep(tokenHash, known, epoch)
  return known
}

/** Kept to the minute, and beside the request: nobody waits for it. */
function noteUse(ctx: Context, id: number): void {
  transact(ctx, (tx) => queries.markTokenUsed(tx, { id, last_used_at: now(tx) })).catch((error) => {
    ctx.logger.debug({ err: error, token_id: id }, 'the use of a token was not noted')
  })
}

/** One transaction of the client at a time from here on, of those that ask for it: for what only a count can decide. */
export async function lockClient(tx: Tx): Promise<void> {
  await queries.lockClient(tx, { id: tx.clientId })
}

async function addClient(tx: Tx, name: string): Promise<Client> {
  const row = await queries.insertClient(tx, { uuid: randomUUID(), name, created_at: now(tx) })
  return clientFrom(row!)
}

interface TokenToAdd {
  readonly clientId: number
  readonly name: string | null
  readonly role: Role
  readonly expiresAt: string | null
  readonly token: string
}

async function addToken(tx: Tx, { clientId, name, role, expiresAt, token }: TokenToAdd): Promise<NewToken> {
  const row = await queries.insertToken(tx, {
    client_id: clientId,
    hash: hashOf(token),
    name,
    role,
    created_at: now(tx),
    expires_at: expiresAt,
  })
  const { id, created_at, expires_at } = row!
  return { id, token, client_id: clientId, name, role, created_at, expires_at }
}

function expiryOf(ctx: Context, expiresInMs: number | undefined): string | null {
  if (expiresInMs === undefined) return null
  const ms = ctx.clock() + expiresInMs
  const lastMs = Date.UTC(9999, 11, 31)
  if (ms > lastMs) throw new MailkeepError('validation_failed', 'A token cannot last beyond the year 9999.')
  return timestamp(ms)
}

/** 256 random bits after the prefix that lets scanners find leaked tokens. */
function newToken(): string {
  return `mk_${randomBytes(32).toString('base64url')}`
}

function hashOf(token: string): string {
  return hash('sha256', token, 'hex')
}
