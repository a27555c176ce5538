import { encode } from './encode.ts'
import { methodNotAllowed, nothingHere } from './errors.ts'
import type { RequestHandler } from './index.ts'

/** Reports of mail providers. Their signatures are verified; no token is needed. */
export interface Inbound {
  /**
   * Takes the body of a notification of Amazon SNS.
   *
   * @throws MailkeepError
   */
  ses(body: string): Promise<void>
}

const ses: RequestHandler = async ({ inbound }, state) => {
  const { request, context, target } = state
  if (!inbound) throw nothingHere() // no topic is configured
  context.route = target.path
  state.allow = 'POST'
  if (request.method !== 'POST') throw methodNotAllowed()
  await inbound.ses(Buffer.from(await request.body()).toString('utf8'))
  return encode(context, 200, JSON.stringify({ status: 'ok' }))
}

/** Requests of providers, by path. SNS may be subscribed to either. */
export const inboundPages: Readonly<Record<string, RequestHandler>> = {
  '/inbound/ses': ses,
  '/api/v1/inbound/ses': ses,
}
