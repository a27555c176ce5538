import assert from 'node:assert/strict'
import { consoleTest, loaded } from './world.ts'

/** Most requests for the data of a page when it is opened. What is closed at first asks when it is opened. */
const pages: readonly (readonly [path: string, most: number])[] = [
  ['/console/contacts', 2],
  ['/console/contacts/1', 2],
  ['/console/import', 2],
  ['/console/lists', 2],
  ['/console/lists/1', 2],
  ['/console/tags', 2],
  ['/console/segments', 2],
  ['/console/newsletters', 2],
  ['/console/newsletters/1', 2],
  ['/console/newsletters/2', 2],
  ['/console/sequences', 2],
  ['/console/sequences/1', 2],
  ['/console/webhooks', 2],
  ['/console/webhooks/1', 2],
  ['/console/webhooks/1/deliveries/1', 2],
  ['/console/deliveries', 2],
  ['/console/identities', 2],
  ['/console/suppressions', 2],
  ['/console/pages', 2],
  ['/console/tokens', 2],
  ['/console/audit', 2],
  ['/', 2],
]

consoleTest('a page asks for its data in few requests', async ({ page, url, visit, data }) => {
  for (const name of ['News', 'Offers', 'Events']) {
    const { id } = await data<{ id: number }>('POST', '/lists', { name })
    await data('POST', `/lists/${id}/topics`, { name: 'Weekly' })
  }
  await data('POST', '/webhook-endpoints', { url: 'http://127.0.0.1:9/', events: ['contact.created'] })
  for (const list of [1, 2]) await data('POST', `/lists/${list}/contacts`, { email: 'ada@example.org', tags: ['vip'] })
  await data('POST', '/segments', { name: 'Everyone', filters: {} })
  await data('POST', '/email-identities', { email: 'news@example.com', name: 'News' })
  const content = { subject: 'Hello', html: '<p>{{ unsubscribe_url }}</p>' }
  for (const name of ['January', 'February']) await data('POST', '/newsletters', { name, ...content })
  await data('POST', '/newsletters/2/send')
  while ((await data<{ status: string }>('GET', '/newsletters/2')).status !== 'sent') await page.title()
  await data('POST', '/sequences', { name: 'Welcome', list_id: 1 })
  let asked: string[] = []
  page.on('request', (request) => {
    if (/\/api\/v1\/(?!tokens\/current)/.test(request.url())) asked.push(`${request.method()} ${request.url()}`)
  })
  await visit('/console/tags')
  for (const [path, most] of pages) {
    await page.goto('about:blank')
    asked = []
    await page.goto(url + path)
    await loaded(page)
    await page.waitForLoadState('networkidle')
    assert.ok(asked.length <= most, `${path} makes ${asked.length} requests:\n${asked.join('\n')}`)
  }
})
