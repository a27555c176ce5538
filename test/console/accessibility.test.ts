import type { BrowserContextOptions } from 'playwright-core'
import { assertAccessible, consoleTest, heading } from './world.ts'

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

for (const [name, options] of [
  ['light', { colorScheme: 'light' }],
  ['dark', { colorScheme: 'dark' }],
  ['narrow', { viewport: { width: 375, height: 780 } }],
] satisfies [string, BrowserContextOptions][]) {
  consoleTest(
    `no page has violations of accessibility, ${name}`,
    async ({ page, visit, data, url }) => {
      await page.goto(url)
      await page.getByLabel('API token').waitFor()
      await assertAccessible(page, 'sign in')
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
        await page.waitForLoadState('networkidle')
        await assertAccessible(page, path)
        const isWide = await page.evaluate('document.documentElement.scrollWidth > innerWidth')
        if (isWide) throw new Error(`${path} is wider than the window`)
      }
      for (const path of [
        '/console/contacts',
        '/console/lists',
        '/console/segments',
        '/console/webhooks',
        '/console/tokens',
      ]) {
        await visit(path)
        await page.waitForLoadState('networkidle')
        await page.locator('[data-new]').click()
        await assertAccessible(page, `the dialog of ${path}`)
      }
    },
    options,
  )
}
