/** Handles events in the same process, as durably as a webhook. Run: npx tsx examples/in-process-subscriber.ts */
import { randomBytes } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createMailkeep } from 'mailkeep'
import { sqlite } from 'mailkeep/sqlite'

const folder = mkdtempSync(join(tmpdir(), 'app-'))
const mailkeep = await createMailkeep({
  database: sqlite(join(folder, 'mail.db')),
  encryptionKey: randomBytes(32),
  webhooks: { retryScheduleSeconds: [0.1, 60, 3600] }, // short for this example; the default waits 5 s
})
const done = new EventEmitter()

// The subscriber is stored under its name. Events wait in the database while no process handles them. After a crash an
// event may arrive twice, with the same `deliveryId`.
const greeter = await mailkeep.on(
  'contact.subscribed',
  async ({ data }, { attempt }) => {
    if (attempt === 1) throw new Error('the mail server is down') // retried on the schedule of webhooks
    process.stdout.write(`welcome, ${data.contact.name}, at attempt ${attempt}\n`)
    done.emit('greeted')
  },
  { name: 'greeter' },
)
mailkeep.start()

const client = await mailkeep.clients.create({ name: 'Acme' })
const acme = mailkeep.forClient(client.id)
const news = await acme.lists.create({ name: 'News' })
const greeted = once(done, 'greeted')
await acme.contacts.addToList(news.id, { email: 'ada@example.org', name: 'Ada' })
await greeted
await greeter.remove() // deletes the subscriber; stop() only stops handling in this process
await mailkeep.close()
rmSync(folder, { recursive: true })
