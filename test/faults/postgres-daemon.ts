/** Runs a mailkeep, optionally with a wrong clock, controlled by the parent process. */
const [url, schema, aheadMs] = process.argv.slice(2) as [string, string, string]

const realNow = Date.now
Date.now = () => realNow() + Number(aheadMs)

const { createMailkeep } = await import('../../lib/index.ts')
const { postgres } = await import('../../lib/storage/postgres.ts')

const mailkeep = await createMailkeep({
  database: postgres(url, { schema }),
  encryptionKey: Buffer.alloc(32, 7),
  webhooks: { allowPrivate: true },
})

process.on('message', async (message) => {
  if (message === 'start') mailkeep.start()
  if (message === 'raise') {
    const [client] = await mailkeep.clients.list()
    await mailkeep.forClient(client!.id).events.raise({ type: 'newsletter.sent', data: {} })
  }
})
process.on('disconnect', () => process.exit())
process.send!('ready')
