import { type Mailkeep, MailkeepError } from '../../lib/index.ts'
import { type ApiRequest, header } from './exchange.ts'

type Caller = NonNullable<Awaited<ReturnType<Mailkeep['tokens']['authenticate']>>>

/** RFC 6750, 2.1: exactly one token; the scheme's case does not matter (RFC 9110, 11.1). */
const bearer = /^bearer +([\w.~+/-]+=*)$/i

/**
 * Finds out who is asking.
 *
 * @throws MailkeepError `unauthenticated`: no token, several, or one that is not valid (any more).
 */
export async function authenticate(mailkeep: Mailkeep, request: ApiRequest): Promise<Caller> {
  const token = bearer.exec(header(request, 'authorization') ?? '')?.[1]
  const caller = token === undefined ? undefined : await mailkeep.tokens.authenticate(token)
  if (!caller) throw new MailkeepError('unauthenticated', 'A valid token is needed: Authorization: Bearer <token>.')
  return caller
}
