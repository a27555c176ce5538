import { MailkeepError } from '../../lib/index.ts'
import { encode } from './encode.ts'
import { methodNotAllowed } from './errors.ts'
import type { ApiRequest } from './http-types.ts'
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

/** SNS sends messages of at most 256 KiB, and JSON escapes the quotes in them. */
const maxNotificationBytes = 600 * 1024

/**
 * Maximum notifications that are received concurrently. No token protects their bodies, and together they leave half of
 * the budget of bodies to requests with a token.
 */
const maxReceiving = 50

/** Returns the handlers of providers' requests, by path. SNS may be subscribed to either. */
export function inboundPages(inbound: Inbound): Readonly<Record<string, RequestHandler>> {
  let receiving = 0

  /** A body takes memory until it is answered, also while Amazon is asked for a certificate. */
  async function receiveNotification(request: ApiRequest): Promise<void> {
    if (receiving >= maxReceiving)
      throw new MailkeepError('unavailable', 'Too many notifications are being received: try again shortly.')
    receiving += 1
    try {
      await inbound.ses(Buffer.from(await request.body(maxNotificationBytes)).toString('utf8'))
    } finally {
      receiving -= 1
    }
  }

  const ses: RequestHandler = async (_, state) => {
    const { request, context, target } = state
    context.route = target.path
    state.allow = 'POST'
    if (request.method !== 'POST') throw methodNotAllowed()
    await receiveNotification(request)
    return encode(context, 200, JSON.stringify({ status: 'ok' }))
  }

  return { '/inbound/ses': ses, '/api/v1/inbound/ses': ses }
}
