/** Links to contact pages: `POST /contacts/{id}/links` and `contacts.links`. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { createMailkeep } from '../../lib/index.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { test } from '../support/databases.ts'
import { overHttp } from '../support/harness.ts'

overHttp('links to contact pages', (open) => {
  test('are absolute and short, and come with the headers of a mail', async (t) => {
    const { client, data } = await open(t, { publicUrl: 'https://mail.example.com/news/' })
    const { contact } = await client.contacts.upsert({ email: 'ada@example.org' })
    const links = await data(200, 'POST', `/contacts/${contact.id}/links`)
    assert.deepEqual(Object.keys(links), ['unsubscribe_url', 'preferences_url', 'headers'])
    assert.match(links.unsubscribe_url, /^https:\/\/mail\.example\.com\/news\/c\/[\w-]{1,99}\/unsubscribe$/)
    assert.match(links.preferences_url, /^https:\/\/mail\.example\.com\/news\/c\/[\w-]{1,99}\/preferences$/)
    assert.deepEqual(links.headers, {
      'List-Unsubscribe': `<${links.unsubscribe_url}>`,
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    })
    assert.deepEqual(await client.contacts.links(contact.id), links)
    assert.deepEqual(await client.contacts.links({ email: 'ADA@example.org' }), links)
  })

  for (const [given, base] of [
    ['https://bücher.example/räume', 'https://xn--bcher-kva.example/r%C3%A4ume'],
    ['HTTPS://Mail.Example.com', 'https://mail.example.com'],
    [' https://mail.example.com/ ', 'https://mail.example.com'],
  ] as const) {
    test(`are made of ASCII, as headers of mails must be, with the public URL "${given}"`, async (t) => {
      const { client } = await open(t, { publicUrl: given })
      const { contact } = await client.contacts.upsert({ email: 'ada@example.org' })
      const links = await client.contacts.links(contact.id)
      assert.ok(links.unsubscribe_url.startsWith(`${base}/c/`), links.unsubscribe_url)
      assert.deepEqual(links.headers, {
        'List-Unsubscribe': `<${links.unsubscribe_url}>`,
        'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      })
    })
  }

  test('offer no one-click unsubscription without https', async (t) => {
    const { client, url } = await open(t)
    const { contact } = await client.contacts.upsert({ email: 'ada@example.org' })
    const links = await client.contacts.links(contact.id)
    assert.ok(links.unsubscribe_url.startsWith(`${url}/c/`))
    assert.deepEqual(links.headers, { 'List-Unsubscribe': `<${links.unsubscribe_url}>` })
  })

  test('exist only for contacts of the own client', async (t) => {
    const { client, addTenant } = await open(t)
    const { contact } = await client.contacts.upsert({ email: 'ada@example.org' })
    const other = await addTenant()
    assert.equal((await other.call('POST', `/contacts/${contact.id}/links`)).status, 404)
  })
})

test('links without a public URL are refused with the setting to set', async () => {
  await using mailkeep = await createMailkeep({ database: sqlite(':memory:'), encryptionKey: randomBytes(32) })
  const { id } = await mailkeep.clients.create({ name: 'Acme' })
  const acme = mailkeep.forClient(id)
  const { contact } = await acme.contacts.upsert({ email: 'ada@example.org' })
  await assert.rejects(acme.contacts.links(contact.id), (error: { code: string; errors: object }) => {
    assert.equal(error.code, 'validation_failed')
    assert.match(JSON.stringify(error.errors), /^\{"public_url":.*MAILKEEP_PUBLIC_URL.*publicUrl of createMailkeep/)
    return true
  })
})
