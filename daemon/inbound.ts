import { type ClientMailkeep, isMailkeepError, type Logger, type Mailkeep } from '../lib/index.ts'
import { createSnsReceiver, type Feedback, feedbackOf, type SnsOptions } from '../lib/internal.ts'
import type { Inbound } from './api/inbound.ts'

interface InboundOptions extends Pick<SnsOptions, 'topics' | 'fetch'> {
  readonly mailkeep: Mailkeep
  readonly logger: Logger
}

const noClient =
  'ignored a report of Amazon SES that names no client: let SES include the original headers of mails in its notifications'

const noAddress = 'ignored a recipient in a report of Amazon SES, because its address cannot be read'

/** Receives bounces and complaints. They suppress the address and enter the history of the contact. */
export function createInbound({ mailkeep, logger, ...options }: InboundOptions): Inbound {
  const receive = createSnsReceiver({ ...options, clock: Date.now })
  return {
    async ses(body) {
      const message = await receive(body)
      if (message === undefined) return
      for (const { kind, clientId, email } of feedbackOf(message)) {
        if (clientId === undefined) logger.warn({ kind }, noClient)
        else if (email === undefined) logger.warn({ kind }, noAddress)
        else await record(mailkeep.forClient(clientId), kind, email)
      }
    },
  }
}

async function record({ contacts }: ClientMailkeep, kind: Feedback['kind'], email: string): Promise<void> {
  try {
    await (kind === 'bounce' ? contacts.recordBounce({ email }) : contacts.recordComplaint({ email }))
  } catch (error) {
    // The contact or the client was deleted, or SES reports an address that is none of a contact.
    if (!isMailkeepError(error, 'not_found') && !isMailkeepError(error, 'validation_failed')) throw error
  }
}
