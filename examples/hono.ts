/** The API inside a Hono app: a Web-standard handler, on Node. Run: npx tsx examples/hono.ts [port] */
import { randomBytes } from 'node:crypto'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { createMailkeep } from 'mailkeep'
import { createFetchHandler } from 'mailkeep/http'
import { sqlite } from 'mailkeep/sqlite'

const mailkeep = await createMailkeep({
  database: sqlite(':memory:'), // in production a file: sqlite('mail.db')
  encryptionKey: randomBytes(32), // in production a stored key: openssl rand -base64 32
})
const { id: clientId } = await mailkeep.clients.create({ name: 'Acme' })
const { token } = await mailkeep.tokens.create({ clientId, role: 'admin', expiresInMs: 3_600_000 })
mailkeep.start() // delivers webhooks

const handler = createFetchHandler({ mailkeep, prefix: '/mail' })
const app = new Hono()
app.get('/', (c) => c.text('hello'))
app.all('/mail/api/v1/*', (c) => handler(c.req.raw))

const server = serve({ fetch: app.fetch, port: Number(process.argv[2] ?? 3000), hostname: '127.0.0.1' }, ({ port }) => {
  process.stdout.write(`Authorization: Bearer ${token}\nlistening on http://127.0.0.1:${port}\n`)
})
process.once('SIGTERM', () => server.close(() => mailkeep.close()))
