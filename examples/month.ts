/** A small team's month: from moving in to erasing a person for good. Run: npx tsx examples/month.ts */
import { randomBytes } from 'node:crypto'
import { createMailkeep } from 'mailkeep'
import { createContactPages } from 'mailkeep/http'
import { sqlite } from 'mailkeep/sqlite'

const publicUrl = 'https://mail.acme.example'
const mailkeep = await createMailkeep({ database: sqlite(':memory:'), encryptionKey: randomBytes(32), publicUrl })
const acme = mailkeep.forClient((await mailkeep.clients.create({ name: 'Acme' })).id)
const say = (line: string) => process.stdout.write(`${line}\n`)

const export_ = `Email Address,First Name,Last Name,TAGS,Plan,UNSUB_TIME\n${[
  'ada@example.org,Ada,Lovelace,vip,pro,',
  'bob@example.org,Bob,Byron,,pro,2026-01-02 03:04:05',
  'cyd@exampel.org,Cyd,Charisse,,free,',
].join('\n')}`
const news = await acme.lists.create({ name: 'News' })
const { created } = await acme.contacts.import(news.id, [export_], { format: 'csv' })
say(
  `moved in: ${created} people, ${await acme.contacts.count({ unsubscribed: 'only' })} of them unsubscribed elsewhere`,
)

const cyd = await acme.contacts.changeEmail({ email: 'CYD@exampel.org' }, { email: 'cyd@example.org' })
say(`corrected: ${cyd.name} has the address ${cyd.email}`)

await acme.settings.attributes.update({ indexed: ['Plan'] })
await mailkeep.deliverDue() // finishes the index now; a started mailkeep does it in the background
const pro = await acme.segments.create({ name: 'Pro', filters: { lists: [news.id], attributes: { Plan: 'pro' } } })
say(`segment: ${await acme.contacts.count({ segment: pro.id })} subscribed person with the plan pro`)

const { headers } = await acme.contacts.links({ email: 'ada@example.org' })
const oneClick = { method: 'POST', body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }) }
const answer = await createContactPages({ mailkeep })(new Request(headers['List-Unsubscribe'].slice(1, -1), oneClick))
const ada = await acme.contacts.get({ email: 'ada@example.org' })
say(`one click: ${answer.status}, unsubscribed by herself: ${ada.unsubscribed_by_contact}`)

let everything = ''
for await (const text of await acme.contacts.data(ada.id)) everything += text
const { data: history } = await acme.contacts.history(ada.id)
say(
  `asked for all data: ${Object.keys(JSON.parse(everything)).join(', ')}; last: ${history[0]?.type} by ${history[0]?.source}`,
)

await acme.contacts.delete(ada.id, { suppress: true })
const again = await acme.contacts.import(news.id, [export_], { format: 'csv' })
say(`erased; the old file again: ${again.refused} refused: ${again.refused_rows[0]?.errors.email?.[0]}`)

const { id } = await acme.tokens.create({ name: 'Eve, left in May', role: 'member' })
await acme.tokens.revoke(id)
const { data: audit } = await acme.auditLog.list({ per_page: 3 })
say(`audit: ${audit.map(({ type, source }) => `${type} by ${source}`).join(', ')}`)
await mailkeep.close()
