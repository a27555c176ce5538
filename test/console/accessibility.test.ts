import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { until } from '../support/harness.ts'
import { openReceiver } from '../support/http-receiver.ts'
import { assertAccessible, consoleTest, heading, loaded } from './world.ts'

const pages: readonly (readonly [path: string, title: string])[] = [
  ['/', 'Overview'],
  ['/console/contacts', 'Contacts'],
  ['/console/contacts/1', 'Ada'],
  ['/console/import', 'Import'],
  ['/console/lists', 'Lists and topics'],
  ['/console/lists/1', 'News'],
  ['/console/tags', 'Tags'],
  ['/console/segments', 'Segments'],
  ['/console/newsletters', 'Newsletters'],
  ['/console/newsletters/1', 'January'],
  ['/console/sequences', 'Sequences'],
  ['/console/sequences/1', 'Welcome'],
  ['/console/webhooks', 'Webhooks'],
  ['/console/webhooks/1', 'http://127.0.0.1:9/'],
  ['/console/webhooks/1/deliveries/1', 'Delivery 1'],
  ['/console/deliveries', 'Deliveries'],
  ['/console/identities', 'Sender identities'],
  ['/console/suppressions', 'Suppressions'],
  ['/console/pages', 'Page settings'],
  ['/console/tokens', 'Tokens'],
  ['/console/audit', 'Audit log'],
  ['/docs#listContacts', 'API documentation'],
]

/** Pages with a button that opens a dialog. */
const dialogs = ['/console/contacts', '/console/lists', '/console/segments', '/console/webhooks', '/console/tokens']

/** Checks what the page shows now in light and dark colours, and in a narrow window. */
async function assertAccessibleInAllModes(page: Page, what: string): Promise<void> {
  const size = page.viewportSize()!
  await assertFits(page, what)
  await assertAccessible(page, `${what}, light`)
  await page.emulateMedia({ colorScheme: 'dark' })
  await assertAccessible(page, `${what}, dark`, ['color-contrast']) // only the colours differ
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize({ width: 375, height: 780 })
  await assertFits(page, `${what}, narrow`)
  await assertAccessible(page, `${what}, narrow`)
  await page.setViewportSize(size)
}

async function assertFits(page: Page, what: string): Promise<void> {
  const isWide = await page.evaluate('document.documentElement.scrollWidth > innerWidth')
  if (isWide) throw new Error(`${what} is wider than the window`)
}

consoleTest(
  'no page has violations of accessibility, in light and dark colours and in a narrow window',
  async ({ page, visit, data, url }) => {
    await page.goto(url)
    await page.getByLabel('API token').waitFor()
    await assertAccessibleInAllModes(page, 'sign in')
    await page.goto('about:blank')
    await data('POST', '/lists', { name: 'News' })
    await data('POST', '/lists/1/topics', { name: 'Weekly' })
    await data('POST', '/webhook-endpoints', { url: 'http://127.0.0.1:9/', events: ['contact.created'] })
    await data('POST', '/lists/1/contacts', { email: 'ada@example.org', name: 'Ada', tags: ['vip'], plan: 'pro' })
    await data('POST', '/newsletters', { name: 'January', subject: 'Hello', html: '<p>{{ unsubscribe_url }}</p>' })
    await data('POST', '/sequences', { name: 'Welcome', list_id: 1 })
    for (const [path, title] of pages) {
      await visit(path)
      await heading(page, title)
      await loaded(page)
      await assertAccessibleInAllModes(page, path)
    }
    for (const path of dialogs) {
      await visit(path)
      await loaded(page)
      await page.locator('[data-new]').click()
      await assertAccessibleInAllModes(page, `the dialog of ${path}`)
    }
    await visit('/console/newsletters/1')
    await page.getByText('Sender and audience').click()
    await page.getByText('Topics, and who is left out').click()
    await page.getByLabel('Weekly (News)').waitFor()
    await assertAccessibleInAllModes(page, 'the whole audience')
    await visit('/console/sequences/1')
    await page.getByRole('button', { name: 'New step' }).click()
    await page.getByLabel('Subject').fill('Hello')
    await page.locator('.mail').getByText('Hello Ada').waitFor()
    await assertAccessibleInAllModes(page, 'a step with its preview')
  },
  { colorScheme: 'light' },
)

consoleTest(
  'the long audience of a newsletter that was sent is read without a mouse',
  async ({ page, visit, data }) => {
    for (let number = 1; number <= 30; number++) await data('POST', '/lists', { name: `List ${number}` })
    await data('POST', '/newsletters', { name: 'January', subject: 'Hello', html: '<p>{{ unsubscribe_url }}</p>' })
    await data('POST', '/newsletters/1/send')
    await visit('/console/newsletters/1')
    await page.getByText('Content', { exact: true }).click()
    await page.getByText('Sender and audience').click()
    await page.getByLabel('List 30', { exact: true }).waitFor()
    await assertAccessible(page, 'a newsletter that was sent')
  },
)

consoleTest('long values fit into every page, and leave no column of single letters', async (world, t) => {
  const { page, visit, data } = world
  const receiver = await openReceiver()
  t.after(() => receiver.close())
  receiver.replies({ status: 500, body: 'x'.repeat(500) })
  const long = `A name that is long ${'and long '.repeat(8)}${'x'.repeat(80)}`
  const url = receiver.url(`/${'path/'.repeat(10)}?key=${'x'.repeat(120)}`)
  await data('POST', '/lists', { name: long })
  await data('POST', '/lists', { name: `${long} other` })
  await data('POST', '/lists/1/topics', { name: long, description: long })
  await data('POST', '/webhook-endpoints', { url, events: ['contact.created'], description: long })
  await data('POST', '/lists/1/contacts', {
    email: `${'ada.'.repeat(12)}x@example.org`,
    name: long,
    tags: [long],
    [`attribute_${'x'.repeat(50)}`]: 'x'.repeat(200),
  })
  await data('POST', '/newsletters', { name: long, subject: long, html: '<p>{{ unsubscribe_url }}</p>' })
  await data('POST', '/sequences', { name: long, list_id: 1 })
  await data('PUT', '/sequences/1/steps', {
    steps: [{ delay_seconds: 0, subject: long, html: '<p>{{ unsubscribe_url }}</p>' }],
  })
  const email = `${'long.'.repeat(11)}x@${'example.'.repeat(20)}org`
  await data('POST', '/tokens', { name: 'y'.repeat(200), role: 'viewer' })
  await data('POST', '/email-identities', { email, name: 'y'.repeat(200) })
  await data('POST', '/suppressions', { email })
  await data('POST', '/segments', { name: 'y'.repeat(200), filters: { search: 'y'.repeat(200) } })
  await data('POST', '/contacts/1/unsubscribe')
  await data('POST', '/contacts', { email: 'wide@example.org', name: 'W'.repeat(255) })
  await data('PUT', '/settings/pages', { name: 'y'.repeat(100) })
  await until(
    () => data<{ attempts: number }>('GET', '/webhook-endpoints/1/deliveries/1'),
    ({ attempts }) => attempts > 0,
  )
  for (const width of [1280, 1024, 961, 721, 375, 320]) {
    await page.setViewportSize({ width, height: 780 })
    for (const [path] of pages) {
      await visit(path)
      await loaded(page)
      await assertFits(page, `${path} at ${width} pixels`)
      const narrowest = await page.evaluate(`Math.min(...[...document.querySelectorAll('td.main')]
        .map((cell) => cell.clientWidth))`)
      if (path === '/console/contacts') {
        const tallest = await page.evaluate(`Math.max(...[...document.querySelectorAll('tbody tr')]
          .map((row) => row.clientHeight))`)
        assert.ok(Number(tallest) <= 160, `a row at ${width} pixels is ${tallest} pixels high`)
      }
      assert.ok(Number(narrowest) >= 100, `a main column of ${path} has ${narrowest} of ${width} pixels`)
    }
  }
})
