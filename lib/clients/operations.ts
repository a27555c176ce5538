import { hash, randomBytes, randomUUID } from 'node:crypto'
import { audit } from '../audit/operations.ts'
import { type Context, now, type Tx } from '../context.ts'
import { invalid, notFound } from '../errors.ts'
import { type BatchStep, inBatches } from '../jobs/batches.ts'
import { deleteOlder, enqueue, type JobHandlers, runOrEnqueue } from '../jobs/operations.ts'
import { parse, requireId } from '../parse.ts'
import { saveSetting } from '../storage/settings.ts'
import { transact } from '../storage/transaction.ts'
import { dayMs, lastMs, msOf, timestamp } from '../time.ts'
import { readSession } from './portal.ts'
import * as queries from './queries.ts'
import {
  Bootstrap,
  type Client,
  type ClientInput,
  NewClient,
  type NewToken,
  NewTokenInput,
  type Principal,
  type Role,
  type Token,
  TokenFilter,
  type TokenInput,
} from './schema.ts'
import type { KnownToken } from './token-cache.ts'

const clearClient = 'clear client'

/** @param others Delete the client's rows in the tables of the other slices. */
export function clientJobs(others: readonly BatchStep[]): JobHandlers {
  return { [clearClient]: inBatches(...others, queries.deleteTokensOf, queries.deleteClient) }
}

/** `last_used_at` is updated at most this often. */
const lastUsedPrecisionMs = 60_000

/**
 * Creates a client (a tenant). Its records are separate from those of other clients.
 *
 * @throws MailkeepError `validation_failed`
 */
export async function createClient(ctx: Context, input: ClientInput): Promise<Client> {
  const { name } = parse(NewClient, input)
  return transact(ctx, (tx) => addClient(tx, name))
}

/** Returns all clients, by ascending id. */
export async function listClients(ctx: Context): Promise<Client[]> {
  return await queries.listClients(ctx, {})
}

/** @throws MailkeepError `not_found` */
export async function getClient(ctx: Context, id: number): Promise<Client> {
  requireId('clientId', id)
  const row = await queries.findClient(ctx, { id })
  if (!row) throw notFound('client')
  return row
}

/** Renames a client. @throws MailkeepError `not_found`, `validation_failed` */
export async function renameClient(ctx: Context, id: number, input: ClientInput): Promise<Client> {
  const { name } = parse(NewClient, input)
  return transact(ctx, async (tx) => {
    requireId('clientId', id)
    const row = await queries.renameClient(tx, { id, name })
    if (!row) throw notFound('client')
    audit(tx, 'client.updated', id, id)
    return row
  })
}

/**
 * Deletes a client with all its records. From the commit on its tokens are invalid, and its deliveries in flight are
 * aborted. A stored job deletes its rows in batches. On SQLite the first batch is deleted immediately.
 *
 * @throws MailkeepError `not_found`
 */
export async function deleteClient(ctx: Context, id: number): Promise<void> {
  return transact(ctx, async (tx) => {
    requireId('clientId', id)
    if (!(await queries.markClientDeleted(tx, { id, deleted_at: now(tx) }))) throw notFound('client')
    await queries.switchOffEndpointsOf(tx, { client_id: id })
    tx.transaction.afterCommit(() => {
      tx.local.tokens.clear()
      tx.local.webhooks.abort(({ clientId }) => clientId === id)
    })
    const ofClient = { ...tx, clientId: id }
    // The deletion of its rows would wait for other transactions of the client, and some of them for this one: a deadlock.
    // So a job deletes the rows after the commit.
    if (tx.storage.dialect.concurrentWriters) await enqueue(ofClient, clearClient, { targetId: id })
    else await runOrEnqueue(ofClient, clearClient, { targetId: id })
  })
}

const firstToken = { name: null, role: 'admin', expiresAt: null } as const

/**
 * Creates the first client, "default", with an admin token. Does nothing if a client exists.
 *
 * @param input `token`: a token to use instead of a random one.
 * @throws MailkeepError `validation_failed`
 */
export async function bootstrap(
  ctx: Context,
  input: { readonly token?: string | undefined } = {},
): Promise<{ client: Client; token: NewToken } | undefined> {
  const { token } = parse(Bootstrap, input)
  return transact(ctx, async (tx) => {
    if (await queries.findAnyClient(tx, {})) return undefined
    await saveSetting(tx, { name: 'first_client', value: '' }) // locks the row until the commit
    if (await queries.findAnyClient(tx, {})) return undefined // another daemon may have just created it
    const client = await addClient(tx, 'default')
    return {
      client,
      token: await addToken(tx, { ...firstToken, clientId: client.id, ...(token === undefined ? {} : { token }) }),
    }
  })
}

/**
 * Creates a token. The token is shown only here; the database stores its SHA-256.
 *
 * @throws MailkeepError `validation_failed`, `not_found`: no such client.
 */
export async function createToken(ctx: Context, input: TokenInput): Promise<NewToken> {
  const { clientId, role, expiresInMs, name = null } = parse(NewTokenInput, input)
  return transact(ctx, async (tx) => {
    await getClient(tx, clientId)
    const expiresAt = expiryOf(tx, 'expiresInMs', expiresInMs)
    return await addToken(tx, { clientId, name, role, expiresAt })
  })
}

/**
 * Returns the tokens of one client, or of all clients.
 *
 * @throws MailkeepError `validation_failed`
 */
export async function listTokens(
  ctx: Context,
  filter: { readonly clientId?: number | undefined } = {},
): Promise<Token[]> {
  const { clientId } = parse(TokenFilter, filter)
  return await queries.listTokens(ctx, { client_id: clientId ?? null })
}

/**
 * Revokes a token, which becomes invalid. Doing it again changes nothing.
 *
 * @throws MailkeepError `not_found`
 */
export async function revokeToken(ctx: Context, id: number): Promise<void> {
  return transact(ctx, async (tx) => {
    requireId('tokenId', id)
    const revoked = await queries.revokeToken(tx, { id, revoked_at: now(tx) })
    if (!revoked && !(await queries.findToken(tx, { id }))) throw notFound('token')
    if (!revoked) return
    audit(tx, 'token.revoked', id, revoked.client_id)
    tx.transaction.afterCommit(() => tx.local.tokens.clear())
  })
}

/** @returns The token's client and role; undefined when it is unknown, revoked or expired, or its client is deleted. */
export async function authenticate(ctx: Context, token: string): Promise<Principal | undefined> {
  if (typeof token !== 'string') throw invalid('token', 'token must be a string.')
  const session = await readSession(ctx, token)
  if (session) return session
  const { tokens } = ctx.local
  const tokenHash = hashOf(token)
  const version = await ctx.storage.changes.version()
  const nowMs = ctx.clock()
  const known = tokens.find(tokenHash, version, nowMs) ?? (await loadToken(ctx, tokenHash, version))
  if (!known) return undefined
  // Not inside a host's transaction, which may end before this update runs in the background.
  if (Math.abs(nowMs - known.usedMs) >= lastUsedPrecisionMs && !tokens.outer) {
    known.usedMs = nowMs
    recordUse(ctx, known.id)
  }
  return known.principal
}

async function loadToken(ctx: Context, tokenHash: string, version: number): Promise<KnownToken | undefined> {
  const { tokens } = ctx.local
  const { epoch } = tokens
  const row = await queries.findValidToken(ctx, { hash: tokenHash, now: now(ctx) })
  if (!row) return undefined
  const known: KnownToken = {
    id: row.id,
    principal: { clientId: row.client_id, role: row.role, tokenId: row.id },
    expiresMs: row.expires_at === null ? undefined : msOf(row.expires_at),
    usedMs: row.last_used_at === null ? 0 : msOf(row.last_used_at),
    version,
    knownMs: ctx.clock(),
  }
  tokens.keep(tokenHash, known, epoch)
  return known
}

/** Updates `last_used_at` in the background, at most once a minute per token. */
function recordUse(ctx: Context, id: number): void {
  transact(ctx, (tx) => queries.markTokenUsed(tx, { id, last_used_at: now(tx) })).catch((error) => {
    ctx.logger.debug({ err: error, token_id: id }, 'could not record the use of a token')
  })
}

/**
 * Deletes tokens that became invalid more than 90 days ago, in batches. The entries that the audit log has of them are
 * no older.
 */
export async function deleteInvalidTokens(ctx: Context): Promise<void> {
  await deleteOlder(ctx, 90 * dayMs, queries.deleteOldTokens)
}

/** Locks the client's row until the transaction ends, so that transactions that check a count run one at a time. */
export async function lockClient(tx: Tx): Promise<void> {
  await queries.lockClient(tx, { id: tx.clientId })
}

async function addClient(tx: Tx, name: string): Promise<Client> {
  const row = await queries.insertClient(tx, { uuid: randomUUID(), name, created_at: now(tx) })
  audit(tx, 'client.created', row!.id, row!.id)
  return row!
}

interface TokenToAdd {
  readonly clientId: number
  readonly name: string | null
  readonly role: Role
  readonly expiresAt: string | null
  /** Default: a random one. */
  readonly token?: string
}

/** Inserts a token. Only this result shows it. */
export async function addToken(
  tx: Tx,
  { clientId, name, role, expiresAt, token = newToken() }: TokenToAdd,
): Promise<NewToken> {
  const row = await queries.insertToken(tx, {
    client_id: clientId,
    hash: hashOf(token),
    name,
    role,
    created_at: now(tx),
    expires_at: expiresAt,
  })
  const { id, created_at, expires_at } = row!
  audit(tx, 'token.created', id, clientId)
  return { id, token, client_id: clientId, name, role, created_at, expires_at }
}

/** @param field The field of the input that has the duration, for the error. */
export function expiryOf(ctx: Context, field: string, expiresInMs: number | undefined): string | null {
  if (expiresInMs === undefined) return null
  const ms = ctx.clock() + expiresInMs
  if (ms > lastMs) throw invalid(field, 'A token cannot last beyond the year 9999.')
  return timestamp(ms)
}

/** Returns a token with 256 random bits. The prefix lets secret scanners find leaked tokens. */
function newToken(): string {
  return `mk_${randomBytes(32).toString('base64url')}`
}

function hashOf(token: string): string {
  return hash('sha256', token, 'hex')
}
