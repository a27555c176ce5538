/** The API inside a Fastify app, with mailkeep's tokens. Run: npx tsx examples/fastify.ts [port] */
import { randomBytes } from 'node:crypto'
import fastify from 'fastify'
import { createMailkeep } from 'mailkeep'
import { createHandler } from 'mailkeep/http'
import { sqlite } from 'mailkeep/sqlite'

const mailkeep = await createMailkeep({
  database: sqlite(':memory:'), // in production a file: sqlite('mail.db')
  encryptionKey: randomBytes(32), // in production a stored key: openssl rand -base64 32
})
const { id: clientId } = await mailkeep.clients.create({ name: 'Acme' })
const { token } = await mailkeep.tokens.create({ clientId, role: 'admin', expiresInMs: 3_600_000 })
mailkeep.start() // delivers webhooks

const app = fastify()
// Fastify parses the body first, and answers invalid bodies itself.
app.all('/mail/api/v1/*', createHandler({ mailkeep, prefix: '/mail' }))
app.addHook('onClose', () => mailkeep.close())

const origin = await app.listen({ port: Number(process.argv[2] ?? 3000), host: '127.0.0.1' })
process.stdout.write(`Authorization: Bearer ${token}\nlistening on ${origin}\n`)
process.once('SIGTERM', () => app.close())
