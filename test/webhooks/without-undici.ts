/** Makes one attempt in a process where undici cannot be loaded, as in a bundle; prints the recorded attempt. */
import { randomBytes } from 'node:crypto'
import { registerHooks } from 'node:module'
import { createMailkeep } from '../../lib/index.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === 'undici') throw new Error('undici is not here')
    return next(specifier, context)
  },
})

const errors: string[] = []
const nothing = () => {}
const logger = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: (fields: { err?: Error }) => void errors.push(fields.err!.message),
}

async function main(): Promise<void> {
  const mailkeep = await createMailkeep({
    database: sqlite(':memory:'),
    encryptionKey: randomBytes(32),
    logger,
    webhooks: { allowPrivate: true },
  })
  const client = mailkeep.forClient((await mailkeep.clients.create({ name: 'a' })).id)
  const { id } = await client.webhooks.createEndpoint({ url: 'http://127.0.0.1:9/', events: ['newsletter.sent'] })
  await client.events.raise({ type: 'newsletter.sent', data: {} })
  await mailkeep.deliverDue()
  const { data } = await client.webhooks.listDeliveries(id)
  const delivery = await client.webhooks.getDelivery(id, data[0]!.id)
  const endpoint = await client.webhooks.getEndpoint(id)
  process.stdout.write(JSON.stringify({ delivery, endpoint, errors }))
  await mailkeep.close()
}

await main()
