/** The page on which a contact confirms that it joins a list with double opt-in. */
import assert from 'node:assert/strict'
import { test } from '../support/databases.ts'
import { needsClock, type Open, overHttp } from '../support/harness.ts'
import { fieldsOf, submit, visit } from './visit.ts'

const email = 'ada@example.org'
const dayMs = 86_400_000

/** Opens a service with a contact that is asked to confirm a list. Nothing is delivered: the link is in the payload. */
async function ask(t: Parameters<Open>[0], open: Open) {
  const service = await open(t, { dispatch: false })
  const { client } = service
  const { id: endpointId } = await client.webhooks.createEndpoint({
    url: 'http://127.0.0.1:9/',
    events: ['contact.confirmation_requested', 'contact.subscribed'] as never,
  })
  const list = await client.lists.create({ name: 'News <1>', double_opt_in: true })
  const { contact } = await client.contacts.addToList(list.id, { email })
  const [request] = (await client.webhooks.listDeliveries(endpointId)).data
  const { payload } = await client.webhooks.getDelivery(endpointId, request!.id)
  const { confirm_url } = (payload as { data: { confirm_url: string } }).data
  const events = async () => (await client.webhooks.listDeliveries(endpointId)).data.map(({ event_type }) => event_type)
  const lists = async () => (await client.contacts.get(contact.id)).lists.map(({ id }) => id)
  return { ...service, events, list, id: contact.id, confirm_url, lists }
}

overHttp('the page to confirm a list', (open) => {
  test('asks first, and adds the contact to the list, once', async (t) => {
    const { confirm_url, lists, list, events, client, id } = await ask(t, open)
    const asked = await visit(confirm_url)
    assert.equal(asked.status, 200)
    assert.match(
      asked.html,
      /Please confirm that you want to receive “<bdi>News &lt;1&gt;<\/bdi>” at <bdi>ada@example\.org<\/bdi>\./,
    )
    assert.equal((await visit(confirm_url, { method: 'HEAD' })).status, 200)
    assert.deepEqual(await lists(), [])
    for (const _ of ['once', 'again']) {
      const done = await submit(confirm_url, fieldsOf(asked.html, 'confirm'))
      assert.match(done.html, /<h1 dir="auto">Your subscription is confirmed<\/h1>/)
      assert.deepEqual(await lists(), [list.id])
    }
    assert.match((await visit(confirm_url)).html, /Your subscription is confirmed/)
    assert.deepEqual(await events(), ['contact.subscribed', 'contact.confirmation_requested'])
    const [last, first] = (await client.contacts.history(id)).data
    assert.deepEqual([first!.type, last!.type], ['confirmation_requested', 'confirmed'])
    assert.deepEqual([last!.source, last!.ip], ['confirmation_link', '127.0.0.1'])
  })

  test('does not promise mail to a member that is unsubscribed, but lets it subscribe again', async (t) => {
    const { confirm_url, client, id, list } = await ask(t, open)
    const isUnsubscribed = async () => (await client.contacts.get(id)).unsubscribed_at !== null
    const form = fieldsOf((await visit(confirm_url)).html, 'confirm')
    await client.contacts.unsubscribe(id)
    await client.contacts.addToList(list.id, { email, confirmed: true })
    for (const page of [await submit(confirm_url, form), await visit(confirm_url), await submit(confirm_url, form)]) {
      assert.match(page.html, /You are unsubscribed/)
      assert.doesNotMatch(page.html, /will be sent to .*again|“<bdi>News/)
      assert.equal(await isUnsubscribed(), true)
    }
    const back = await submit(confirm_url, fieldsOf((await visit(confirm_url)).html, 'resubscribe'))
    assert.match(back.html, /You are subscribed again/)
    assert.equal(await isUnsubscribed(), false)
    const [last] = (await client.contacts.history(id)).data
    assert.deepEqual([last!.type, last!.source], ['resubscribed', 'confirmation_link'])
    assert.match((await visit(confirm_url)).html, /Your subscription is confirmed/)
  })

  test('promises no mail to a suppressed address', async (t) => {
    const { confirm_url, client, lists, list } = await ask(t, open)
    await client.suppressions.create({ email })
    const done = await submit(confirm_url, fieldsOf((await visit(confirm_url)).html, 'confirm'))
    assert.match(done.html, /Your subscription is confirmed/)
    assert.doesNotMatch(done.html, /will be sent/)
    assert.deepEqual(await lists(), [list.id])
  })

  test('names the address and the list in every text of the client', async (t) => {
    const { client, confirm_url } = await ask(t, open)
    const own = '{email}, {list}'
    const names = ['confirm_title', 'confirm_text', 'confirm_button', 'confirmed_title', 'confirmed_text'] as const
    await client.settings.pages.update({ texts: Object.fromEntries(names.map((name) => [name, own])) })
    const asked = await visit(confirm_url)
    const confirmed = await submit(confirm_url, fieldsOf(asked.html, 'confirm'))
    const named = '<bdi>ada@example.org</bdi>, <bdi>News &lt;1&gt;</bdi>'
    assert.deepEqual([asked.html.split(named).length, confirmed.html.split(named).length], [4, 3])
    assert.match(asked.html, /<title>ada@example\.org, News &lt;1&gt;<\/title>/)
  })

  test('does not work after 30 days', needsClock, async (t) => {
    const { confirm_url, lists, advance } = await ask(t, open)
    advance(30 * dayMs - 60_000)
    assert.equal((await visit(confirm_url)).status, 200)
    advance(60_000)
    assert.equal((await visit(confirm_url)).status, 404)
    assert.equal((await submit(confirm_url, { action: 'confirm' })).status, 404)
    assert.deepEqual(await lists(), [])
  })

  test('does not work after the list or the contact was deleted, nor as another page', async (t) => {
    const { confirm_url, client, list, id } = await ask(t, open)
    for (const purpose of ['unsubscribe', 'preferences']) {
      assert.equal((await visit(confirm_url.replace(/confirm$/, purpose))).status, 404)
    }
    await client.lists.delete(list.id)
    assert.equal((await visit(confirm_url)).status, 404)
    assert.equal((await submit(confirm_url, { action: 'confirm' })).status, 404)
    await client.contacts.delete(id)
    assert.equal((await visit(confirm_url)).status, 404)
  })

  test('shows no button after the address was changed, or the contact has left the list again', async (t) => {
    const { confirm_url, client, list, id } = await ask(t, open)
    const form = fieldsOf((await visit(confirm_url)).html, 'confirm')
    assert.equal((await submit(confirm_url, form)).status, 200)
    await client.contacts.removeFromList(list.id, id)
    assert.equal((await visit(confirm_url)).status, 404)
    assert.equal((await submit(confirm_url, form)).status, 404)
    const other = await ask(t, open)
    await other.client.contacts.changeEmail(other.id, { email: 'other@example.org' })
    assert.equal((await visit(other.confirm_url)).status, 404)
  })
})
