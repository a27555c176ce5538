import { randomBytes } from 'node:crypto'
import { createMailkeep, type Mailkeep, type MailkeepOptions } from '../../lib/index.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { keepLog } from '../support/kept-log.ts'

/** Makes one attempt, and prints the recorded delivery, its endpoint, and the errors that were logged. */
export async function printAttempt(
  url: string,
  webhooks: MailkeepOptions['webhooks'],
  textOf: (error: NodeJS.ErrnoException) => string | undefined,
  deliver = (mailkeep: Mailkeep): Promise<unknown> => mailkeep.deliverDue(),
): Promise<void> {
  const { logger, of } = keepLog()
  const encryptionKey = randomBytes(32)
  const mailkeep = await createMailkeep({ database: sqlite(':memory:'), encryptionKey, logger, webhooks })
  const client = mailkeep.forClient((await mailkeep.clients.create({ name: 'a' })).id)
  const { id } = await client.webhooks.createEndpoint({ url, events: ['newsletter.sent'] })
  await client.events.raise({ type: 'newsletter.sent', data: {} })
  await deliver(mailkeep)
  const { data } = await client.webhooks.listDeliveries(id)
  const delivery = await client.webhooks.getDelivery(id, data[0]!.id)
  const endpoint = await client.webhooks.getEndpoint(id)
  const errors = of('error').map(({ fields }) => textOf(fields.err as NodeJS.ErrnoException))
  process.stdout.write(JSON.stringify({ delivery, endpoint, errors }))
  await mailkeep.close()
}
