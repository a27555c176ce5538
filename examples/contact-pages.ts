/** Pages on which contacts unsubscribe, inside an Express app. Run: npx tsx examples/contact-pages.ts [port] */
import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { createMailkeep } from 'mailkeep'
import { createContactPages } from 'mailkeep/http'
import { sqlite } from 'mailkeep/sqlite'

const app = express()
const server = app.listen(Number(process.argv[2] ?? 3000), '127.0.0.1')
await new Promise((resolve) => server.once('listening', resolve))
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const mailkeep = await createMailkeep({
  database: sqlite(':memory:'), // in production a file: sqlite('mail.db')
  encryptionKey: randomBytes(32), // in production a stored key: openssl rand -base64 32
  publicUrl: `${origin}/mail`, // in production https, so that mail programs show their own button
})
app.use('/mail', createContactPages({ mailkeep })) // /mail/c/TOKEN/unsubscribe …

const { id } = await mailkeep.clients.create({ name: 'Acme' })
const acme = mailkeep.forClient(id)
await acme.settings.pages.update({ name: 'Acme Gardens', colour: '#2f7d32' })
const news = await acme.lists.create({ name: 'News' })
const { contact } = await acme.contacts.addToList(news.id, { email: 'ada@example.org' })

const { unsubscribe_url, preferences_url, headers } = await acme.contacts.links(contact.id)
process.stdout.write(`listening on ${origin}\nheaders of a mail: ${JSON.stringify(headers)}\n`)
process.stdout.write(`preferences at ${preferences_url}\nunsubscribe at ${unsubscribe_url}\n`)
process.once('SIGTERM', () => server.close(() => mailkeep.close()))
