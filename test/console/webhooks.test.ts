import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { openReceiver } from '../support/http-receiver.ts'
import { consoleTest, heading } from './world.ts'

async function receiverOf(t: TestContext) {
  const receiver = await openReceiver()
  t.after(() => receiver.close())
  return receiver
}

consoleTest('an endpoint is created, tested, rotated, switched off and deleted', async ({ page, visit, data }, t) => {
  const receiver = await receiverOf(t)
  await visit('/console/webhooks')
  await page.getByText('No endpoint yet.').waitFor()
  await page.keyboard.press('n')
  await page.getByLabel('URL').fill(receiver.url())
  await page.getByLabel('contact.created').check()
  await page.getByRole('button', { name: 'Create endpoint' }).click()
  const secret = await page.getByRole('dialog').locator('code').textContent()
  assert.match(secret ?? '', /^whsec_/)
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'I have copied it' }).click()
  await page.getByRole('link', { name: receiver.url() }).click()
  await heading(page, receiver.url())
  assert.equal(await page.getByText(secret!).count(), 0)

  await page.getByRole('button', { name: 'Send test' }).click()
  await receiver.next()
  await page.getByText('A test event is on its way.').waitFor()
  await page.getByRole('button', { name: 'Rotate secret' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click()
  await page.getByText('The new secret.').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'I have copied it' }).click()

  await page.getByRole('button', { name: 'Switch off' }).click()
  await page.getByText('switched off', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Switch on' }).click()
  await page.getByRole('button', { name: 'Switch off' }).waitFor()
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No endpoint yet.').waitFor()
  assert.deepEqual(await data('GET', '/webhook-endpoints'), [])
})

consoleTest('a delivery shows its payload and attempts, and is sent again', async ({ page, visit, data }, t) => {
  const receiver = await receiverOf(t)
  receiver.replies({ status: 500, body: '<b>broken</b>' }, 200)
  await data('POST', '/webhook-endpoints', { url: receiver.url(), events: ['contact.created'] })
  await data('POST', '/contacts', { email: 'ada@example.org', name: 'Ada' })
  await receiver.next()
  await page.clock.setFixedTime(Date.now() - 20_000)
  await visit('/console/webhooks/1')
  await page.clock.setFixedTime(Date.now()) // the page was opened before the delivery was made
  await page.getByLabel('Status').selectOption('success')
  await page.getByText('No delivery matches.').waitFor()
  await page.getByLabel('Status').selectOption('')
  await page.getByRole('link', { name: /contact\.created #1/ }).click()
  await heading(page, 'Delivery 1')
  await page.getByText('"email": "ada@example.org"').waitFor()
  await page.getByText('webhook-id: ').waitFor()
  await page.getByText('<b>broken</b>').waitFor()
  await page.getByText('The receiver answered 500.').first().waitFor()

  await page.getByRole('button', { name: 'Redeliver' }).click()
  await receiver.next()
  await page.getByText('success', { exact: true }).waitFor()
  assert.doesNotMatch((await page.locator('dl.facts').textContent()) ?? '', /in \d+ seconds/)
  await visit('/console/deliveries?status=success&hours=24')
  await page.getByRole('link', { name: /contact\.created #1/ }).waitFor()
  const endpoint = page.getByRole('link', { name: receiver.url(), exact: true })
  assert.equal(await endpoint.getAttribute('title'), receiver.url())
  await visit('/console/contacts/1')
  await page.getByRole('button', { name: 'Show deliveries' }).click()
  await page.getByRole('link', { name: /contact\.created #1/ }).waitFor()
})

consoleTest(
  'the overview shows how long the oldest due delivery waits, and links to it',
  async (world) => {
    const { page, visit, data } = world
    await data('POST', '/webhook-endpoints', { url: 'http://127.0.0.1:9/', events: ['contact.created'] })
    await visit('/')
    const figure = page
      .getByRole('definition')
      .filter({ has: page.locator('xpath=preceding-sibling::dt[.="Oldest due delivery"]') })
    await figure.getByText('none').waitFor()
    await data('POST', '/contacts', { email: 'ada@example.org' })
    await page.reload()
    await figure.getByRole('link', { name: 'just now' }).click()
    await heading(page, 'Deliveries')
    assert.equal(await page.getByLabel('Status').inputValue(), 'pending')
    await page.getByRole('link', { name: /contact\.created #1/ }).waitFor()
  },
  {},
  { MAILKEEP_DISPATCH: 'false' },
)

consoleTest('held deliveries are recovered with progress', async ({ page, visit, data }, t) => {
  const receiver = await receiverOf(t)
  await data('POST', '/webhook-endpoints', { url: receiver.url(), events: ['contact.created'] })
  await data('PATCH', '/webhook-endpoints/1', { active: false })
  for (const n of [1, 2, 3]) await data('POST', '/contacts', { email: `p${n}@example.org` })
  await visit('/console/webhooks/1')
  await page.getByRole('button', { name: 'Switch on' }).click()
  await page.getByRole('button', { name: 'Recover' }).click()
  await page.getByRole('button', { name: 'Send again' }).click()
  await page.getByText('3 of 3 deliveries queued again: done').waitFor()
  await receiver.next(3)
})

consoleTest('only what an endpoint that is switched off can do is offered', async ({ page, visit, data }) => {
  await data('POST', '/webhook-endpoints', { url: 'http://127.0.0.1:9/', events: ['contact.created'] })
  await data('PATCH', '/webhook-endpoints/1', { active: false })
  await data('POST', '/contacts', { email: 'ada@example.org' })
  await visit('/console/webhooks/1')
  await page.getByText('Switch it on to test it').waitFor()
  for (const name of ['Send test', 'Recover']) assert.equal(await page.getByRole('button', { name }).count(), 0, name)
  await page.getByRole('link', { name: /contact\.created #1/ }).click()
  await page.getByText('Switch its endpoint on').waitFor()
  const redeliver = page.getByRole('button', { name: 'Redeliver' })
  assert.equal(await redeliver.count(), 0)

  await data('PATCH', '/webhook-endpoints/1', { active: true })
  await page.getByRole('button', { name: 'Refresh' }).click()
  await redeliver.waitFor()
  await data('DELETE', '/contacts/1')
  await page.getByRole('button', { name: 'Refresh' }).click()
  await page.getByText('Erased with the contact.').waitFor()
  assert.equal(await redeliver.count(), 0)
})

consoleTest(
  'a printed page has the whole payload of a delivery, and the whole preview of a newsletter',
  async ({ page, visit, data }) => {
    const attributes = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`attribute_${n}`, 'value']))
    await data('POST', '/webhook-endpoints', { url: 'http://127.0.0.1:9/', events: ['contact.created'] })
    await data('POST', '/contacts', { email: 'ada@example.org', ...attributes })
    await data('POST', '/newsletters', { subject: 'Hi', html: `${'<p>Line</p>'.repeat(60)}{{ unsubscribe_url }}` })
    for (const [path, part, whole] of [
      ['/console/webhooks/1/deliveries/1', 'main pre:last-child', 'attribute_59'],
      ['/console/newsletters/1', '.compose > :last-child', 'Line'],
    ] as const) {
      await visit(path)
      await page.locator(part).getByText(whole).last().waitFor()
      const element = `document.querySelector('${part}')`
      const hidden = () => page.evaluate<number>(`${element}.scrollHeight - ${element}.clientHeight`)
      assert.ok((await hidden()) > 100, path)
      await page.emulateMedia({ media: 'print' })
      assert.equal(await hidden(), 0, path)
      await page.emulateMedia({ media: 'screen' })
    }
  },
)
