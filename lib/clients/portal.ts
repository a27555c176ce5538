/** Links that open the console's webhook pages for the customers of a host, without a token of the API. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import * as v from 'valibot'
import { type Context, now } from '../context.ts'
import { closedObject, parse } from '../parse.ts'
import { requirePublicUrl } from '../public-url.ts'
import { type Timestamp, timestamp } from '../time.ts'
import { getClient } from './operations.ts'
import * as queries from './queries.ts'
import type { Principal } from './schema.ts'

const defaultSeconds = 3600
const maxSeconds = 24 * 3600

export interface PortalLinkInput {
  /** What the link opens: webhook endpoints and their deliveries. */
  readonly role: 'webhooks'
  /** Seconds from now: 60–86,400, default 3,600. */
  readonly expires_in?: number | undefined
}

const lifetimeProblem = `This must be between 60 and ${maxSeconds} seconds.`

const NewPortalLink = closedObject({
  role: v.picklist(['webhooks'], 'This must be webhooks.'),
  expires_in: v.optional(
    v.pipe(
      v.number('This must be a number.'),
      v.safeInteger('This must be an integer.'),
      v.minValue(60, lifetimeProblem),
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
export async function createPortalLink(ctx: Context, input: PortalLinkInput): Promise<PortalLink> {
  const { expires_in } = parse(NewPortalLink, input)
  const url = requirePublicUrl(ctx)
  await getClient(ctx, ctx.clientId)
  const expiresMs = (Math.floor(ctx.clock() / 1000) + expires_in) * 1000
  return { url: `${url}/portal#token=${sessionToken(ctx, expiresMs)}`, expires_at: timestamp(expiresMs) }
}

/** Distinguishes session tokens from tokens of the API, which begin with `mk_`. */
const prefix = 'mkp_'
const numberBytes = 6
const contentBytes = 2 * numberBytes
const macBytes = 16
/** Not a purpose of a contact's link. */
const purpose = 0x70

function sessionToken(ctx: Context, expiresMs: number): string {
  const content = Buffer.alloc(contentBytes)
  content.writeUIntBE(ctx.clientId, 0, numberBytes)
  content.writeUIntBE(expiresMs / 1000, numberBytes, numberBytes)
  return prefix + Buffer.concat([content, macOf(ctx, content)]).toString('base64url')
}

/** @returns What a session token gives access to; undefined if it is none, was altered, or ended. */
export async function readSession(ctx: Context, token: string): Promise<Principal | undefined> {
  if (!token.startsWith(prefix)) return undefined
  const bytes = Buffer.from(token.slice(prefix.length), 'base64url')
  if (bytes.length !== contentBytes + macBytes || prefix + bytes.toString('base64url') !== token) return undefined
  const content = bytes.subarray(0, contentBytes)
  const mac = bytes.subarray(contentBytes)
  if (!timingSafeEqual(macOf(ctx, content), mac)) return undefined
  const clientId = content.readUIntBE(0, numberBytes)
  const expiresMs = content.readUIntBE(numberBytes, numberBytes) * 1000
  if (timestamp(expiresMs) <= now(ctx) || !(await queries.findClient(ctx, { id: clientId }))) return undefined
  return { clientId, role: 'admin', scope: 'webhooks' }
}

/** The first byte distinguishes it from the MAC of a contact's link, which has the same key. */
function macOf(ctx: Context, content: Buffer): Buffer {
  const mac = createHmac('sha256', ctx.local.linkKey.value).update(Buffer.of(purpose)).update(content)
  return mac.digest().subarray(0, macBytes)
}
