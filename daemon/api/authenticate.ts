import { type Mailkeep, MailkeepError, type Principal, type Role, roles } from '../../lib/index.ts'
import { isId } from '../../lib/internal.ts'
import { type ApiRequest, header } from './http-types.ts'
import type { Route } from './routes/route.ts'

/** The roles in ascending order: each may do everything that the roles before it may, and more. */
const ranks: Readonly<Record<Role, number>> = { viewer: 0, member: 1, admin: 2 }

/** @throws MailkeepError `forbidden`: the caller's role is lower than the one that the route needs, or its scope ends. */
export function requireRole(caller: Principal, { role, inPortal }: Pick<Route, 'role' | 'inPortal'>): void {
  if (caller.scope !== undefined && !inPortal) {
    throw new MailkeepError('forbidden', 'This link opens webhook endpoints and their deliveries only.')
  }
  if (ranks[caller.role] >= ranks[role]) return
  const higher = role === 'member' ? 'member or admin' : role
  throw new MailkeepError('forbidden', `This needs a token with the role ${higher}.`)
}

/** Returns the principal of a host's request; nothing if the request is not authenticated. */
export type Authenticate<Request> = (
  request: Request,
) => Principal | undefined | null | Promise<Principal | undefined | null>

/** Exactly one token (RFC 6750, 2.1). The scheme is case-insensitive (RFC 9110, 11.1). */
const bearer = /^bearer +([\w.~+/-]+=*)$/i

/** @returns The request's bearer token, if it has exactly one. */
export function bearerToken(request: ApiRequest): string | undefined {
  return bearer.exec(header(request, 'authorization') ?? '')?.[1]
}

/**
 * Authenticates the caller by its bearer token.
 *
 * @throws MailkeepError `unauthenticated`: no token, several tokens, or an invalid, expired or revoked token.
 */
export async function authenticate(mailkeep: Mailkeep, request: ApiRequest): Promise<Principal> {
  const token = bearerToken(request)
  const caller = token === undefined ? undefined : await mailkeep.tokens.authenticate(token)
  if (!caller) throw new MailkeepError('unauthenticated', 'A valid token is needed: Authorization: Bearer <token>.')
  return caller
}

/**
 * Authenticates the caller with the host's own function.
 *
 * @throws MailkeepError `unauthenticated`: the host does not know the caller. Also throws any error of the host.
 */
export async function askHost(authenticate: Authenticate<never>, request: ApiRequest): Promise<Principal> {
  const caller = await authenticate(request.source as never)
  if (!caller) throw new MailkeepError('unauthenticated', 'Authentication is needed.')
  const { clientId, role, scope, tokenId } = caller
  const areIds = isId(clientId) && isId(tokenId ?? clientId)
  if (!areIds || !roles.includes(role) || (scope && scope !== 'webhooks')) {
    throw new TypeError(
      'The host’s authenticate() must return { clientId, role } with an id and admin, member or viewer; tokenId, if any, must be an id, and scope webhooks.',
    )
  }
  return caller
}
