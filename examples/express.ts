/** The API inside an Express app, behind the app's own login. Run: npx tsx examples/express.ts [port] */
import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import express, { type ErrorRequestHandler, type Request } from 'express'
import { createMailkeep, isMailkeepError } from 'mailkeep'
import { createHandler } from 'mailkeep/http'
import { sqlite } from 'mailkeep/sqlite'

const mailkeep = await createMailkeep({
  database: sqlite(':memory:'), // in production a file: sqlite('mail.db')
  encryptionKey: randomBytes(32), // in production a stored key: openssl rand -base64 32
})
const { id: clientId } = await mailkeep.clients.create({ name: 'Acme' })
const acme = mailkeep.forClient(clientId)
const news = await acme.lists.create({ name: 'News' })
mailkeep.start() // delivers webhooks

const sessions = new Map([['ada', { clientId, role: 'admin' as const }]]) // the app's own sessions
const authenticate = (request: Request) => sessions.get(request.get('x-session') ?? '')

const app = express()
app.use('/mail', createHandler({ mailkeep, authenticate })) // GET /mail/api/v1/contacts …
app.use(express.json()) // mount parsers after mailkeep, so that mailkeep itself answers invalid bodies
app.post('/sign-up', async (request, response) => {
  const { email, name } = request.body
  const { contact, created } = await acme.contacts.addToList(news.id, { email, name })
  response.status(created ? 201 : 200).json({ welcome: contact.name })
})
app.use(((error, _request, response, next) => {
  if (isMailkeepError(error, 'validation_failed')) response.status(422).json({ issues: error.issues })
  else next(error)
}) satisfies ErrorRequestHandler)

const server = app.listen(Number(process.argv[2] ?? 3000), '127.0.0.1', () => {
  process.stdout.write(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
process.once('SIGTERM', () => server.close(() => mailkeep.close()))
