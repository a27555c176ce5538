import { type Mailkeep, MailkeepError, type Principal, roles } from '../../lib/index.ts'
import { type ApiRequest, header } from './http-types.ts'

/** Whom a host's own request stands for; nothing where it stands for nobody. */
export type Authenticate<Request> = (
  request: Request,
) => Principal | undefined | null | Promise<Principal | undefined | null>

/** RFC 6750, 2.1: exactly one token; the scheme's case does not matter (RFC 9110, 11.1). */
const bearer = /^bearer +([\w.~+/-]+=*)$/i

/** @returns the one token that a request carries, if any. */
export function bearerToken(request: ApiRequest): string | undefined {
  return bearer.exec(header(request, 'authorization') ?? '')?.[1]
}

/**
 * Finds out who is asking.
 *
 * @throws MailkeepError `unauthenticated`: no token, several, or one that is not valid (any more).
 */
export async function authenticate(mailkeep: Mailkeep, request: ApiRequest): Promise<Principal> {
  const token = bearerToken(request)
  const caller = token === undefined ? undefined : await mailkeep.tokens.authenticate(token)
  if (!caller) throw new MailkeepError('unauthenticated', 'A valid token is needed: Authorization: Bearer <token>.')
  return caller
}

/**
 * Asks the host who is asking.
 *
 * @throws MailkeepError `unauthenticated`: nobody the host knows; and what the host throws.
 */
export async function askHost(authenticate: Authenticate<never>, request: ApiRequest): Promise<Principal> {
  const caller = await authenticate(request.source as never)
  if (!caller) throw new MailkeepError('unauthenticated', 'Authentication is needed.')
  if (!roles.includes(caller.role) || !Number.isSafeInteger(caller.clientId) || caller.clientId < 1) {
    throw new TypeError('The host’s authenticate() must give { clientId, role } with an id and admin or member.')
  }
  return caller
}
