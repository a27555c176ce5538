/** Links that open the console's webhook pages for the customers of a host, without a token of the API. */
import * as v from 'valibot'
import { type Context, now, requirePublicUrl } from '../context.ts'
import { closedObject, parse } from '../parse.ts'
import { bytesOfNumbers, numberAt, readToken, signToken } from '../sealing/signed-token.ts'
import { type Timestamp, timestamp } from '../time.ts'
import { getClient } from './operations.ts'
import * as queries from './queries.ts'
import type { Principal } from './schema.ts'

const defaultSeconds = 3600
const maxSeconds = 24 * 3600

export interface PortalLinkInput {
  /** The link opens webhook endpoints and their deliveries. */
  readonly role: 'webhooks'
  /** Seconds from now: 1–86,400, default 3,600. */
  readonly expires_in?: number | undefined
}

const lifetimeProblem = `This must be between 1 and ${maxSeconds} seconds.`

export const NewPortalLink = closedObject({
  role: v.picklist(['webhooks'], 'This must be webhooks.'),
  expires_in: v.optional(
    v.pipe(
      v.number('This must be a number.'),
      v.safeInteger('This must be an integer.'),
      v.minValue(1, lifetimeProblem),
      v.maxValue(maxSeconds, lifetimeProblem),
    ),
    defaultSeconds,
  ),
})

/** A link for a customer. Its holder can manage the client's webhook endpoints until it expires. */
export interface PortalLink {
  /** The session token is in the fragment, which browsers send to no server. */
  url: string
  expires_at: Timestamp
}

/**
 * Creates a link that opens the console's webhook pages for this client only. It cannot be revoked before it expires.
 *
 * @throws MailkeepError `validation_failed`: also on `public_url`, when no public URL is set; `not_found`: no such client.
 */
export async function createPortalLink(
  ctx: Context,
  input: PortalLinkInput = { role: 'webhooks' },
): Promise<PortalLink> {
  const { expires_in } = parse(NewPortalLink, input)
  const url = requirePublicUrl(ctx)
  await getClient(ctx, ctx.clientId)
  const expiresMs = (Math.floor(ctx.clock() / 1000) + expires_in) * 1000
  return { url: `${url}/portal#token=${sessionToken(ctx, expiresMs)}`, expires_at: timestamp(expiresMs) }
}

/** Distinguishes session tokens from tokens of the API, which begin with `mk_`. */
const prefix = 'mkp_'
/** The first byte. It is no purpose of a contact's link, which has the same key. */
const purpose = 0x70
/** Purpose, client, and the second of the end. */
const contentBytes = 1 + bytesOfNumbers(0, 0).length

function sessionToken(ctx: Context, expiresMs: number): string {
  const content = Buffer.concat([Buffer.of(purpose), bytesOfNumbers(ctx.clientId, expiresMs / 1000)])
  return prefix + signToken(ctx.local.linkKey, content)
}

/** @returns What a session token gives access to; undefined if it is none, was altered, or ended. */
export async function readSession(ctx: Context, token: string): Promise<Principal | undefined> {
  if (!token.startsWith(prefix)) return undefined
  const content = readToken(ctx.local.linkKey, token.slice(prefix.length), contentBytes)
  if (content?.[0] !== purpose) return undefined
  const [clientId, expiresMs] = [numberAt(content.subarray(1), 0), numberAt(content.subarray(1), 1) * 1000]
  if (timestamp(expiresMs) <= now(ctx) || !(await queries.findClient(ctx, { id: clientId }))) return undefined
  return { clientId, role: 'admin', scope: 'webhooks' }
}
