import { isMailkeepError, type Mailkeep } from '../lib/index.ts'
import { createSnsReceiver, type Feedback, feedbackOf, type SnsOptions } from '../lib/internal.ts'
import type { Inbound } from './api/inbound.ts'

interface InboundOptions extends Pick<SnsOptions, 'topics' | 'fetch'> {
  readonly mailkeep: Mailkeep
}

/** Receives bounces and complaints. They suppress the address and enter the history of the contact. */
export function createInbound({ mailkeep, ...options }: InboundOptions): Inbound {
  const receive = createSnsReceiver({ ...options, clock: Date.now })
  return {
    async ses(body) {
      const message = await receive(body)
      if (message === undefined) return
      for (const feedback of feedbackOf(message)) await record(mailkeep, feedback)
    },
  }
}

async function record(mailkeep: Mailkeep, { kind, clientId, email }: Feedback): Promise<void> {
  try {
    const { contacts } = mailkeep.forClient(clientId)
    await (kind === 'bounce' ? contacts.recordBounce({ email }) : contacts.recordComplaint({ email }))
  } catch (error) {
    // The contact or the client was deleted, or SES reports an address that is none of a contact.
    if (!isMailkeepError(error, 'not_found') && !isMailkeepError(error, 'validation_failed')) throw error
  }
}
