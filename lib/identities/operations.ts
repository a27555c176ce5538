import { randomUUID } from 'node:crypto'
import { orAborted } from '../abort.ts'
import { audit } from '../audit/operations.ts'
import { type Context, now } from '../context.ts'
import { invalid, isMailkeepError, notFound } from '../errors.ts'
import { withoutAddresses } from '../logger.ts'
import { mapPage, type Page, readPage } from '../page.ts'
import { foldAddress, parse, requireId } from '../parse.ts'
import { fold } from '../spelling.ts'
import { transact } from '../storage/transaction.ts'
import * as queries from './queries.ts'
import {
  type Identity,
  type IdentityInput,
  type IdentityProvider,
  IdentityQuery,
  type IdentityQueryInput,
  type IdentityStatus,
  identityFrom,
  identityStatuses,
  NewIdentity,
} from './schema.ts'

export { deleteIdentitiesOfClient } from './queries.ts'

const maxIdentitiesPerBatch = 100

/**
 * Returns one page of the client's sender identities, by ascending id.
 *
 * @throws MailkeepError `validation_failed`
 */
export async function listIdentities(ctx: Context, query: IdentityQueryInput = {}): Promise<Page<Identity>> {
  const { identity_status, ...pageQuery } = parse(IdentityQuery, query)
  const filter = { client_id: ctx.clientId, identity_status: identity_status ?? 'pending' }
  const page = await readPage(pageQuery, ({ after, limit, desc }) =>
    queries.listIdentities(ctx, { ...filter, after, limit }, { desc, byStatus: identity_status !== undefined }),
  )
  return mapPage(page, identityFrom)
}

/** @throws MailkeepError `not_found` */
export async function getIdentity(ctx: Context, id: number): Promise<Identity> {
  requireId('identityId', id)
  const row = await queries.identities.find(ctx, { client_id: ctx.clientId, id })
  if (!row) throw notFound('identity')
  return identityFrom(row)
}

/**
 * Registers a sender address.
 *
 * @throws MailkeepError `validation_failed`: also when the client already has the address.
 */
export async function addIdentity(ctx: Context, input: IdentityInput): Promise<Identity> {
  const { email, name, status } = parse(NewIdentity, input)
  return transact(ctx, async (tx) => {
    const at = now(tx)
    const row = await queries.insertIdentity(tx, {
      client_id: tx.clientId,
      uuid: randomUUID(),
      email,
      email_key: foldAddress(email),
      name,
      domain: fold(email.slice(email.lastIndexOf('@') + 1)),
      identity_status: status,
      verified_at: status === 'verified' ? at : null,
      created_at: at,
      updated_at: at,
    })
    if (!row) throw invalid('email', 'There is an identity of this address already.')
    audit(tx, 'identity.created', row.id)
    return identityFrom(row)
  })
}

/** @throws MailkeepError `not_found` */
export async function removeIdentity(ctx: Context, id: number): Promise<void> {
  return transact(ctx, async (tx) => {
    requireId('identityId', id)
    if (!(await queries.identities.delete(tx, { client_id: tx.clientId, id }))) throw notFound('identity')
    audit(tx, 'identity.deleted', id)
  })
}

/**
 * Asks the provider about an identity that is pending or verifying. Starts the verification of a pending one. Without a
 * provider, and if the provider does not answer, the status stays.
 *
 * @throws MailkeepError `not_found`; `validation_failed`: the provider is misconfigured.
 */
export async function refreshIdentity(ctx: Context, id: number): Promise<Identity> {
  const identity = await getIdentity(ctx, id)
  const provider = ctx.local.identityProvider
  if (!provider || !isUnderWay(identity)) return identity
  const status = await nextStatus(ctx, provider, identity)
  if (status === identity.identity_status) return identity
  const updated = await setStatus(ctx, id, status)
  if (!updated) throw notFound('identity')
  return updated
}

function isUnderWay({ identity_status }: Identity): boolean {
  return identity_status === 'pending' || identity_status === 'verifying'
}

/**
 * Updates the status of all clients' pending and verifying identities from the provider. Starts the verification of
 * pending ones. An error of the provider changes nothing.
 *
 * @returns The identities whose status changed.
 * @throws MailkeepError `validation_failed`: there is no provider, or it is misconfigured.
 */
export async function refreshIdentities(ctx: Context, signal?: AbortSignal): Promise<Identity[]> {
  const provider = ctx.local.identityProvider
  if (!provider) throw invalid('identityProvider', 'No identity provider is configured.')
  const changed: Identity[] = []
  for (let after = 0; ; ) {
    const rows = await queries.listUnverified(ctx, { after, limit: maxIdentitiesPerBatch })
    if (rows.length === 0) return changed
    for (const row of rows) {
      signal?.throwIfAborted()
      after = row.id
      const own = { ...ctx, clientId: row.client_id }
      const status = await orAborted(nextStatus(own, provider, row), signal)
      if (status === row.identity_status) continue
      const updated = await setStatus(own, row.id, status)
      if (updated) changed.push(updated)
    }
  }
}

type Asked = Pick<Identity, 'id' | 'email' | 'identity_status'>

/**
 * All clients share the account of the provider, where an address is verified once. So the provider's answer proves
 * nothing about an address that two clients have.
 */
async function nextStatus(ctx: Context, provider: IdentityProvider, identity: Asked): Promise<IdentityStatus> {
  const status = await askProvider(ctx, provider, identity)
  if (status !== 'verified') return status
  const email_key = foldAddress(identity.email)
  if (!(await queries.findOfAnotherClient(ctx, { client_id: ctx.clientId, email_key }))) return status
  ctx.logger.warn({ identity: identity.id }, 'another client has this sender address, so it is not verified')
  return identity.identity_status
}

async function askProvider(
  ctx: Context,
  provider: IdentityProvider,
  { id, email, identity_status }: Asked,
): Promise<IdentityStatus> {
  try {
    const status = identity_status === 'pending' ? await provider.start(email) : await provider.status(email)
    if (status === undefined || status === null) return identity_status
    if (!identityStatuses.includes(status)) throw new Error('it returned a status that mailkeep does not know')
    return status
  } catch (error) {
    if (isMailkeepError(error, 'validation_failed')) throw error
    ctx.logger.warn({ identity: id, reason: withoutAddresses(error) }, 'the identity provider did not answer')
    return identity_status
  }
}

function setStatus(ctx: Context, id: number, identity_status: IdentityStatus): Promise<Identity | undefined> {
  return transact(ctx, async (tx) => {
    const at = now(tx)
    const row = await queries.updateStatus(tx, {
      client_id: tx.clientId,
      id,
      identity_status,
      verified_at: identity_status === 'verified' ? at : null,
      updated_at: at,
    })
    return row && identityFrom(row)
  })
}
