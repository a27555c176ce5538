/** mailkeep as a library, in memory: a contact joins a list, and a webhook reports it. Run: npx tsx examples/quickstart.ts */
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createMailkeep } from 'mailkeep'
import { sqlite } from 'mailkeep/sqlite'

const mailkeep = await createMailkeep({
  database: sqlite(':memory:'), // or a file: sqlite('mail.db')
  encryptionKey: randomBytes(32), // store it: it decrypts the secrets in the database
  webhooks: { allowPrivate: true }, // lets this example call http://127.0.0.1
})
const client = await mailkeep.clients.create({ name: 'Acme' })
const acme = mailkeep.forClient(client.id)

const received = new Promise<string>((resolve) => {
  const receiver = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => (body += chunk))
    request.on('end', () => {
      response.end()
      receiver.close()
      resolve(body)
    })
  }).listen(0, '127.0.0.1', async () => {
    const { port } = receiver.address() as AddressInfo
    await acme.webhooks.createEndpoint({ url: `http://127.0.0.1:${port}/hook`, events: ['contact.subscribed'] })
    const list = await acme.lists.create({ name: 'News' })
    await acme.contacts.addToList(list.id, { email: 'ada@example.org', name: 'Ada', tags: ['vip'], company: 'Engines' })
    mailkeep.start() // delivers webhooks from now on
  })
})

process.stdout.write(`received ${JSON.stringify(JSON.parse(await received), null, 2)}\n`)
await mailkeep.close()
