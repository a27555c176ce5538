/** The README's first session, by the client. Run: TOKEN=mk_… npx tsx examples/first-session.ts [http://127.0.0.1:6245] */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createClient } from 'mailkeep/client'
import { verifyDelivery } from 'mailkeep/receiver'

const mailkeep = createClient({ baseUrl: process.argv[2] ?? 'http://127.0.0.1:6245', token: process.env.TOKEN ?? '' })
const print = (line: string) => process.stdout.write(`${line}\n`)

let secret = ''
const receiver = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const event = verifyDelivery(request.headers, Buffer.concat(chunks), secret)
  response.end()
  receiver.emit('event', event.type)
}).listen(0, '127.0.0.1')
await new Promise((resolve) => receiver.once('listening', resolve))
const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`

const list = await mailkeep.lists.create({ name: 'News' })
const endpoint = await mailkeep.webhooks.create({ url, events: ['contact.subscribed', 'contact.unsubscribed'] })
secret = endpoint.secret // mailkeep shows it only now
const received = new Promise((resolve) => receiver.once('event', resolve))
const ada = { email: 'ada@example.org', name: 'Ada', tags: ['vip'], company: 'Engines' }
const { id } = await mailkeep.contacts.addToList(list.id, ada)
print(`received ${await received}`)

for await (const { email } of mailkeep.contacts.list({ search: 'ada' })) print(`found ${email}`)
for await (const { status } of mailkeep.deliveries.listOfEndpoint(endpoint.id)) print(`delivery: ${status}`)
print(`unsubscribe at ${(await mailkeep.contacts.links(id)).unsubscribe_url}`)

const { id: from_identity_id } = await mailkeep.identities.create({ email: 'news@example.org', name: 'News' })
const html = '<p>Hello {{ contact.name }}</p><p><a href="{{ unsubscribe_url }}">Unsubscribe</a></p>'
const content = { subject: 'Hello {{ contact.name }}', html, audience: { lists: [list.id] } }
const newsletter = await mailkeep.newsletters.create({ name: 'First', from_identity_id, ...content })
print(`newsletter: ${(await mailkeep.newsletters.send(newsletter.id)).status}`)
receiver.close()
