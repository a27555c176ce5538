/** Makes one attempt in a process that can open no more files; prints the recorded attempt. */
import { randomBytes } from 'node:crypto'
import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'
import { createMailkeep } from '../../lib/index.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import '../../lib/webhooks/http/connections.ts' // loaded at the first attempt otherwise

const errors: unknown[] = []
const nothing = () => {}
const logger = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: (fields: { err?: NodeJS.ErrnoException }) => void errors.push(fields.err!.code),
}

function openAll(): number[] {
  const files: number[] = []
  try {
    for (;;) files.push(openSync(devNull, 'r'))
  } catch {
    return files
  }
}

async function main(): Promise<void> {
  const mailkeep = await createMailkeep({ database: sqlite(':memory:'), encryptionKey: randomBytes(32), logger })
  const client = mailkeep.forClient((await mailkeep.clients.create({ name: 'a' })).id)
  const { id } = await client.webhooks.createEndpoint({ url: 'https://hook.example/', events: ['newsletter.sent'] })
  await client.events.raise({ type: 'newsletter.sent', data: {} })
  const files = openAll()
  await mailkeep.deliverDue()
  files.forEach(closeSync)
  const { data } = await client.webhooks.listDeliveries(id)
  const delivery = await client.webhooks.getDelivery(id, data[0]!.id)
  const endpoint = await client.webhooks.getEndpoint(id)
  process.stdout.write(JSON.stringify({ delivery, endpoint, errors }))
  await mailkeep.close()
}

await main()
