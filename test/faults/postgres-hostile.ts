/** Uses the library before and after its host replaces every parser of `pg`; prints the results. */
import pg from 'pg'
import { createMailkeep, type Mailkeep } from '../../lib/index.ts'
import { postgres } from '../../lib/storage/postgres.ts'

const [url, schema] = process.argv.slice(2) as [string, string]
const open = () => createMailkeep({ database: postgres(url, { schema }), encryptionKey: Buffer.alloc(32) })

async function look(mailkeep: Mailkeep, clientId: number, token: string) {
  const client = mailkeep.forClient(clientId)
  const [list] = (await client.lists.list()).data
  const [endpoint] = (await client.webhooks.listEndpoints()).data
  const attributes = JSON.parse('{"zeta": "1", "alpha": "2", "__proto__": "3"}')
  const { contact } = await client.contacts.addToList(list!.id, { email: 'a@x.org', tags: ['t'], ...attributes })
  return {
    contact,
    list,
    endpoint,
    found: (await client.contacts.list({ search: 'x.o' })).data.length,
    deliveries: (await client.webhooks.listDeliveries(endpoint!.id)).data,
    identities: (await client.identities.list()).data,
    principal: await mailkeep.tokens.authenticate(token),
    tokens: (await mailkeep.tokens.list({ clientId })).map(({ last_used_at: _, ...rest }) => rest),
  }
}

await using first = await open()
const { client, token } = (await first.clients.bootstrap())!
const acme = first.forClient(client.id)
await acme.lists.create({ name: 'News' })
await acme.identities.add({ email: 'me@x.org', status: 'verified' })
await acme.webhooks.createEndpoint({ url: 'https://example.com/', events: ['contact.subscribed'] })
await look(first, client.id, token.token)
const plain = await look(first, client.id, token.token)

for (const type of Object.values(pg.types.builtins)) {
  pg.types.setTypeParser(type as number, () => 'hostile')
  pg.types.setTypeParser(type as number, 'binary', () => 'hostile')
}
pg.defaults.parseInt8 = true
pg.defaults.parseInputDatesAsUTC = false
await using second = await open()
const hostile = await look(second, client.id, token.token)
pg.defaults.binary = true
const binary = await open().then(String, String)
process.stdout.write(JSON.stringify({ plain, hostile, binary }))
