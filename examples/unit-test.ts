/** Tests an app that uses mailkeep, without sockets or waiting. Run: npx tsx --test examples/unit-test.ts */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClientMailkeep } from 'mailkeep'
import { testMailkeep } from 'mailkeep/testing'

/** The app's code: handles an order and adds the customer to the newsletter if requested. */
async function buy(mail: ClientMailkeep, newsId: number, order: { email: string; wantsNews: boolean }) {
  if (order.wantsNews) await mail.contacts.addToList(newsId, { email: order.email, tags: ['customer'] })
}

test('a customer who wants news is on the list, and the partner receives the event', async () => {
  await using kit = await testMailkeep() // in your runner without `using`: kit.close() after each test
  const news = await kit.list('News')
  await buy(kit.client, news.id, { email: 'ada@example.org', wantsNews: true })
  await buy(kit.client, news.id, { email: 'bob@example.org', wantsNews: false })
  const subscribed = kit.events('contact.subscribed').map(({ data }) => data.contact.email)
  assert.deepEqual(subscribed, ['ada@example.org'])
})

test('a partner whose server is down for a day still receives the event', async () => {
  await using kit = await testMailkeep()
  await kit.client.webhooks.createEndpoint({ url: 'https://partner.example/', events: ['contact.subscribed'] })
  kit.answer('unreachable')
  await kit.contact()
  await kit.clock.advance('1 day') // resolves after all retries of that day
  assert.ok(kit.deliveries().length > 5)
  kit.answer(200)
  await kit.clock.advance('1 day')
  assert.equal(kit.deliveries().at(-1)?.event.type, 'contact.subscribed')
})
