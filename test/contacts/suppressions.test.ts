/** Addresses that must not be mailed, and what an erasure leaves of an address. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test as nodeTest } from 'node:test'
import Database from 'better-sqlite3'
import { createMailkeep } from '../../lib/index.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { test } from '../support/databases.ts'
import { onEveryDatabase, onSharedDatabases } from '../support/webhook-harness.ts'

const email = 'Zebedee@example.org'
const isRefused = (error: unknown) => Object.keys((error as { errors?: object }).errors ?? {}).join() === 'email'

onEveryDatabase('an erased and suppressed address', (open) => {
  test('is refused after the encryption key has been rotated', async (t) => {
    const mk = await open(t, { start: false })
    const { acme, acmeId, place, encryptionKey } = mk
    const { contact } = await acme.contacts.upsert({ email })
    await acme.contacts.delete(contact.id, { suppress: true })
    const newKey = randomBytes(32)
    const rotating = await open(t, {
      place,
      start: false,
      encryptionKey: newKey,
      previousEncryptionKeys: [encryptionKey],
    })
    await rotating.mailkeep.resealSecrets()
    const { mailkeep } = await open(t, { place, start: false, encryptionKey: newKey })
    const { contacts, suppressions } = mailkeep.forClient(acmeId)
    await assert.rejects(contacts.upsert({ email }), isRefused)
    const list = await acme.lists.create({ name: 'News' })
    const [result] = await contacts.addManyToList(list.id, [{ email }])
    assert.ok(isRefused(result!.refused))
    const [entry] = (await suppressions.list()).data
    assert.deepEqual([entry!.email, entry!.reason], [null, 'erased'])
    await suppressions.delete(entry!.id)
    assert.ok((await contacts.upsert({ email })).created)
  })

  test('is still suppressed and readable for other clients', async (t) => {
    const { mailkeep, acme } = await open(t, { start: false })
    const other = mailkeep.forClient((await mailkeep.clients.create({ name: 'Other' })).id)
    const { suppression } = await other.suppressions.create({ email })
    for (const suppress of [false, true]) {
      const { contact } = await acme.contacts.upsert({ email })
      await acme.contacts.delete(contact.id, { suppress })
      assert.deepEqual((await other.suppressions.list()).data, [suppression])
      assert.equal((await acme.suppressions.list()).data.length, suppress ? 1 : 0)
    }
    assert.equal((await other.contacts.upsert({ email })).created, true)
  })

  test('cannot be taken by another contact, but keeps none from being stored', async (t) => {
    const { acme } = await open(t, { start: false })
    const { contact } = await acme.contacts.upsert({ email })
    await acme.contacts.delete(contact.id, { suppress: true })
    const { contact: bob, created } = await acme.contacts.upsert({ email: 'bob@example.org' })
    assert.equal(created, true)
    await assert.rejects(acme.contacts.changeEmail(bob.id, { email: email.toUpperCase() }), isRefused)
  })

  test('keeps no address from being stored that is suppressed for another reason', async (t) => {
    const { acme } = await open(t, { start: false })
    const { contact } = await acme.contacts.upsert({ email })
    await acme.contacts.delete(contact.id, { suppress: true })
    await acme.suppressions.create({ email: 'bob@example.org' })
    const list = await acme.lists.create({ name: 'News' })
    const results = await acme.contacts.addManyToList(list.id, [{ email }, { email: 'bob@example.org' }])
    assert.deepEqual(
      results.map(({ refused }) => refused && isRefused(refused)),
      [true, undefined],
    )
  })

  test('does not stay readable in a suppression, with or without a hash of it', async (t) => {
    const { acme, count } = await open(t, { start: false })
    for (const suppress of [false, true]) {
      await acme.suppressions.create({ email })
      const { contact } = await acme.contacts.upsert({ email })
      await acme.contacts.delete(contact.id, { suppress })
      assert.equal(await count('mailkeep_suppression where email is not null or email_key is not null'), 0)
      assert.equal(await count('mailkeep_suppression'), suppress ? 1 : 0)
    }
  })
})

onSharedDatabases('reports of the mail provider', (open) => {
  test('suppress the address once, and enter the history', async (t) => {
    const { acme } = await open(t, { start: false })
    const { contact } = await acme.contacts.upsert({ email })
    const { contact: bob } = await acme.contacts.upsert({ email: 'bob@example.org' })
    await acme.contacts.recordBounce(contact.id)
    await acme.contacts.recordBounce(contact.id)
    await acme.contacts.recordComplaint({ email: 'BOB@example.org' })
    const all = (await acme.suppressions.list()).data.map(({ email, reason }) => [email, reason])
    assert.deepEqual(all, [
      [email, 'hard_bounce'],
      ['bob@example.org', 'complaint'],
    ])
    const historyOf = async (id: number) =>
      (await acme.contacts.history(id)).data.map(({ type, source }) => `${type} ${source}`)
    assert.deepEqual(await historyOf(contact.id), ['bounced provider'])
    assert.deepEqual(await historyOf(bob.id), ['complained provider'])
    await assert.rejects(acme.contacts.recordBounce(999), { code: 'not_found' })
  })
})

nodeTest('an erased and suppressed address is nowhere in the file', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'mailkeep-suppress-'))
  t.after(() => rm(directory, { recursive: true }))
  const file = join(directory, 'mailkeep.db')
  const handle = new Database(file)
  const mailkeep = await createMailkeep({ database: sqlite(handle), encryptionKey: randomBytes(32) })
  t.after(async () => {
    await mailkeep.close()
    handle.close()
  })
  const { client } = (await mailkeep.clients.bootstrap())!
  const acme = mailkeep.forClient(client.id)
  const list = await acme.lists.create({ name: 'News' })
  await acme.suppressions.create({ email })
  const { contact } = await acme.contacts.addToList(list.id, { email, name: 'zebedee' })
  const bytes = async () => {
    await mailkeep.deliverDue()
    handle.pragma('wal_checkpoint(truncate)')
    return (await readFile(file, 'latin1')).toLowerCase()
  }
  assert.ok((await bytes()).includes('zebedee'), 'the address was there before')
  await acme.contacts.delete(contact.id, { suppress: true })
  await assert.rejects(acme.contacts.addToList(list.id, { email }), isRefused)
  assert.ok(!(await bytes()).includes('zebedee'))
})
