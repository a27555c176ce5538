/** The tokens of one client, which its admins manage over HTTP. `operations.ts` has those of all clients. */
import { audit } from '../audit/operations.ts'
import { type Context, now } from '../context.ts'
import { notFound } from '../errors.ts'
import { listPage, mapPage, type Page, type PageInput } from '../page.ts'
import { parse, requireId } from '../parse.ts'
import { transact } from '../storage/transaction.ts'
import { addToken, expiryOf, getClient } from './operations.ts'
import * as queries from './queries.ts'
import {
  type ClientToken,
  type ClientTokenInput,
  type CurrentToken,
  clientTokenFrom,
  type NewClientToken,
  NewClientToken as NewClientTokenInput,
} from './schema.ts'

/**
 * Returns one page of the client's tokens, by ascending id, without the secret values. Revoked tokens are not listed.
 *
 * @throws MailkeepError `validation_failed`
 */
export async function listClientTokens(ctx: Context, query?: PageInput): Promise<Page<ClientToken>> {
  const page = await listPage(query, (range) =>
    queries.listClientTokens(ctx, { client_id: ctx.clientId, ...range }, range),
  )
  return mapPage(page, clientTokenFrom)
}

/**
 * Returns the token that authenticates the caller, which `forClient` was given as `tokenId`.
 *
 * @throws MailkeepError `not_found`: the caller has no token.
 */
export async function getCurrentToken(ctx: Context): Promise<CurrentToken> {
  const { tokenId } = ctx.caller
  const row =
    tokenId === undefined
      ? undefined
      : await queries.findClientToken(ctx, { client_id: ctx.clientId, id: tokenId, now: now(ctx) })
  if (!row) throw notFound('token')
  return { ...clientTokenFrom(row), client_id: ctx.clientId }
}

/**
 * Creates a token of the client. The token is shown only here; the database stores its SHA-256.
 *
 * @throws MailkeepError `validation_failed`; `not_found`: no such client.
 */
export async function createClientToken(ctx: Context, input: ClientTokenInput): Promise<NewClientToken> {
  const { name, role, expires_in } = parse(NewClientTokenInput, input)
  const expiresAt = expiryOf(ctx, 'expires_in', expires_in === undefined ? undefined : expires_in * 1000)
  return transact(ctx, async (tx) => {
    await getClient(tx, tx.clientId)
    const { client_id: _, ...added } = await addToken(tx, { clientId: tx.clientId, name, role, expiresAt })
    return { ...added, last_used_at: null }
  })
}

/**
 * Revokes a token of the client, which becomes invalid.
 *
 * @throws MailkeepError `not_found`: no such token, or it is revoked already.
 */
export async function revokeClientToken(ctx: Context, id: number): Promise<void> {
  return transact(ctx, async (tx) => {
    requireId('tokenId', id)
    const revoked = await queries.revokeClientToken(tx, { client_id: tx.clientId, id, revoked_at: now(tx) })
    if (!revoked) throw notFound('token')
    audit(tx, 'token.revoked', id)
    tx.transaction.afterCommit(() => tx.local.tokens.clear())
  })
}
