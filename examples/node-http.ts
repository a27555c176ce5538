/** The API beside other pages, with only node:http. Run: npx tsx examples/node-http.ts [port] */
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
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

const api = createHandler({ mailkeep, prefix: '/mail' })
const server = createServer((request, response) => {
  if (request.url === '/') response.end('hello')
  else api(request, response, () => response.writeHead(404).end('no such page'))
})

server.listen(Number(process.argv[2] ?? 3000), '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  process.stdout.write(`Authorization: Bearer ${token}\nlistening on http://127.0.0.1:${port}\n`)
})
process.once('SIGTERM', () => server.close(() => mailkeep.close()))
