import { MailkeepError } from '../../lib/index.ts'
import { encode } from './encode.ts'
import type { ApiOptions, RequestHandler } from './index.ts'

/** What providers report about mail. Their signatures are verified; no token is needed. */
export interface Inbound {
  /**
   * Takes the body of a notification of Amazon SNS.
   *
   * @throws MailkeepError
   */
  ses(body: string): Promise<void>
}

const ses: RequestHandler = async (options, state) => {
  const { request, context, target } = state
  const inbound = inboundOf(options)
  context.route = target.path
  state.allow = 'POST'
  if (request.method !== 'POST') throw new MailkeepError('method_not_allowed', 'This path does not know this method.')
  await inbound.ses(Buffer.from(await request.body()).toString('utf8'))
  return encode(context, 200, JSON.stringify({ status: 'ok' }))
}

/** Requests of providers, by path. SNS may be subscribed to either. */
export const inboundPages: Readonly<Record<string, RequestHandler>> = {
  '/inbound/ses': ses,
  '/api/v1/inbound/ses': ses,
}

/** @throws MailkeepError `not_found`: no topic is configured. */
function inboundOf({ inbound }: ApiOptions): Inbound {
  if (!inbound) throw new MailkeepError('not_found', 'There is nothing here.')
  return inbound
}
