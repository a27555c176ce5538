/** A database of an earlier version goes on working with this one. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { createMailkeep, isMailkeepError } from '../lib/index.ts'
import { needsPostgres, test } from './databases.ts'
import { databases } from './harness.ts'

const encryptionKey = randomBytes(32)

for (const database of databases.filter(({ name }) => /file$|PostgreSQL/.test(name))) {
  const options = database.name === 'PostgreSQL' ? needsPostgres : {}
  test(`a database of the first schema is brought up to date, on ${database.name}`, options, async (t) => {
    const { source, close } = await database.open()
    t.after(close)
    const first = { ...source, migrations: source.migrations.slice(0, 1) }
    const open = (database = source) => createMailkeep({ database, encryptionKey })
    const old = await open(first)
    const { id } = await old.clients.create({ name: 'Acme' })
    const { contacts, lists } = old.forClient(id)
    const list = await lists.create({ name: 'News' })
    const { contact } = await contacts.addToList(list.id, { email: 'ada@example.org' })
    await old.close()

    const renewed = await open()
    const acme = renewed.forClient(id)
    assert.deepEqual(await acme.contacts.get(contact.id), contact)
    const add = () =>
      acme.idempotently('k', 1, (client) => client.contacts.addToList(list.id, { email: 'bob@example.org' }))
    assert.deepEqual([(await add()).replayed, (await add()).replayed], [false, true])
    await acme.contacts.delete(contact.id)
    await renewed.close()
    await assert.rejects(open(first), (error) => isMailkeepError(error, 'conflict') && /newer/.test(error.message))
    await (await open()).close()
  })
}
