/** Every page with as many records as a large client has: how it works, and how fast. */
import type { Page } from 'playwright-core'
import { assertFaster, isTimed } from '../support/timing.ts'
import { fill } from './crowd.ts'
import { assertAccessible, consoleTest, type World } from './world.ts'

/** The whole crowd takes longer than a test of `npm test` should. */
const crowd = isTimed ? { contacts: 100_000, deliveries: 200_000 } : { contacts: 20_000, deliveries: 40_000 }
const groupsOfEachKind = 20
const endpoints = 50

const maxPaintMs = 300
const maxReadyMs = 1000
/** Beside the time that the API takes. */
const maxInteractionMs = 100

/** Pages with their titles, and a text that they show once their data has arrived. */
const pages: readonly (readonly [path: string, title: string, text: string | RegExp])[] = [
  ['/', 'Overview', '50 endpoints'],
  ['/console/contacts', 'Contacts', 'person50@example.org'],
  ['/console/contacts/77', 'Person 77', 'Deliveries that show it'],
  ['/console/import', 'Import', /Drop a CSV/],
  ['/console/lists', 'Lists and topics', 'list 20'],
  ['/console/lists/1', 'list 1', 'topic of list 1'],
  ['/console/tags', 'Tags', 'tag 20'],
  ['/console/segments', 'Segments', 'segment 20'],
  ['/console/newsletters', 'Newsletters', 'newsletter 1'],
  ['/console/newsletters/1', 'newsletter 1', /^[\d,]{5,} contacts$/],
  ['/console/sequences', 'Sequences', 'sequence 1'],
  ['/console/sequences/1', 'sequence 1', 'New step'],
  ['/console/webhooks', 'Webhooks', /hook50$/],
  ['/console/webhooks/1', /hook1$/.source, 'contact.created'],
  ['/console/deliveries', 'Deliveries', 'contact.created'],
  ['/console/identities', 'Sender identities', 'news@example.org'],
  ['/console/suppressions', 'Suppressions', 'gone@example.org'],
  ['/console/pages', 'Page settings', 'Own texts'],
  ['/console/tokens', 'Tokens', 'admin'],
  ['/console/audit', 'Audit log', 'segment.created'],
  ['/docs', 'API documentation', 'List contacts'],
]

/** What is checked for accessibility in `npm test`, too: large numbers and many rows. */
const checked = new Set(['/', '/console/lists', '/console/deliveries'])

async function prepare({ data, file }: World): Promise<void> {
  for (let n = 1; n <= groupsOfEachKind; n++) {
    await data('POST', '/lists', { name: `list ${n}` })
    await data('POST', `/lists/${n}/topics`, { name: `topic of list ${n}` })
    await data('POST', '/tags', { name: `tag ${n}` })
  }
  for (let n = 1; n <= endpoints; n++) {
    await data('POST', '/webhook-endpoints', { url: `http://127.0.0.1:9/hook${n}`, events: ['contact.created'] })
  }
  await data('POST', '/suppressions', { email: 'gone@example.org' })
  await data('POST', '/email-identities', { email: 'news@example.org', name: 'News' })
  const html = '<p>Dear {{ contact.name }}</p><p><a href="{{ unsubscribe_url }}">Unsubscribe</a></p>'
  await data('POST', '/newsletters', { name: 'newsletter 1', subject: 'Hello {{ contact.name }}', html })
  await data('POST', '/sequences', { name: 'sequence 1', status: 'paused' })
  for (let n = 1; n <= groupsOfEachKind; n++) {
    await data('POST', '/segments', { name: `segment ${n}`, filters: { tags: [n] } })
  }
  fill(file, crowd)
}

/** The requests of a page to the API, with the time that each took. */
function watchRequests(page: Page) {
  let requests: { readonly url: string; readonly tookMs: number }[] = []
  page.on('requestfinished', (request) => {
    const { responseEnd, requestStart } = request.timing()
    if (request.url().includes('/api/v1/')) requests.push({ url: request.url(), tookMs: responseEnd - requestStart })
  })
  return () => {
    const finished = requests
    requests = []
    return finished
  }
}

/** Returns a script that follows a link and waits for a text. @returns The milliseconds that it took, in the browser. */
function followLink(name: string, text: string): string {
  return `(async () => {
    const links = [...document.querySelectorAll('main a')]
    const startedMs = performance.now()
    links.find((link) => link.textContent.startsWith(${JSON.stringify(name)})).click()
    while (!document.querySelector('main').textContent.includes(${JSON.stringify(text)}))
      await new Promise(requestAnimationFrame)
    return performance.now() - startedMs
  })()`
}

consoleTest(
  'every page works with many records',
  async (world, t) => {
    const { page, url, visit } = world
    await prepare(world)
    const finished = watchRequests(page)
    await visit('/')
    const open = async ([path, title, text]: (typeof pages)[number]) => {
      await page.goto('about:blank')
      finished()
      await page.goto(url + path)
      await page.getByRole('heading', { level: 1, name: new RegExp(title) }).waitFor()
      await page.locator('main').getByText(text).last().waitFor()
      const readyMs = await page.evaluate<number>('performance.now()')
      const paintMs = await page.evaluate<number>(`performance.getEntriesByType('paint').at(-1)?.startTime ?? 0`)
      await page.waitForLoadState('networkidle')
      const requests = finished()
      const apiMs = Math.max(0, ...requests.map(({ tookMs }) => tookMs))
      return { paintMs, readyMs, apiMs, requests: requests.length }
    }
    for (const one of pages) {
      const [path] = one
      let figures = await open(one)
      if (isTimed && (figures.paintMs > maxPaintMs || figures.readyMs > maxReadyMs)) figures = await open(one)
      const { paintMs, readyMs, apiMs, requests } = figures
      const ms = [paintMs, readyMs, apiMs].map(Math.round)
      t.diagnostic(`${path}: first paint ${ms[0]} ms, data ${ms[1]} ms, ${requests} requests, slowest ${ms[2]} ms`)
      assertFaster(paintMs, maxPaintMs, `the first paint of ${path}`)
      assertFaster(readyMs, maxReadyMs, `the data of ${path}`)
      if (isTimed || checked.has(path)) await assertAccessible(page, path)
    }

    /** Follows a link, and waits for a text. Without the API it must be quick. */
    const follow = async (name: string, text: string) => {
      await page.waitForLoadState('networkidle')
      finished()
      const tookMs = await page.evaluate<number>(followLink(name, text))
      await page.waitForLoadState('networkidle')
      const apiMs = Math.max(0, ...finished().map(({ tookMs: ms }) => ms))
      t.diagnostic(`${name} → ${text}: ${Math.round(tookMs)} ms, the API ${Math.round(apiMs)} ms of it`)
      assertFaster(tookMs - apiMs, maxInteractionMs, `following ${name}`)
    }
    const link = (name: string | RegExp) => page.getByRole('link', { name, exact: true })

    await visit('/console/contacts')
    await link('person50@example.org').waitFor()
    await follow('Next →', 'person101@example.org')
    await page.getByRole('button', { name: 'More filters' }).click()
    await page.getByLabel('Tag', { exact: true }).selectOption('tag 7')
    await link('person6@example.org').waitFor()
    await page.getByLabel('Search by name or e-mail').fill('person1966')
    await link('person19666@example.org').waitFor()
    await follow('person19666@example.org', 'Deliveries that show it')
    await page.getByRole('button', { name: 'Show deliveries' }).click()
    await link(/contact\.created #\d+/)
      .first()
      .waitFor()

    await visit('/console/deliveries')
    await link(/contact\.created #\d+/)
      .first()
      .waitFor()
    await page.getByLabel('Status').selectOption('failed')
    await page.getByText('failed', { exact: true }).nth(3).waitFor()
    await follow('contact.created #', 'The receiver answered 500.')
    await page.getByText('oops').waitFor()
    await page.getByRole('button', { name: 'Redeliver' }).click()
    await page.getByText('pending', { exact: true }).waitFor()

    await visit('/console/newsletters/1')
    await page.getByLabel('Search by name or e-mail').fill('person777@')
    await page.getByText('Dear Person 777', { exact: true }).waitFor()
    await visit('/?range=month')
    await page.getByText('Oldest due delivery').waitFor()
    await page
      .getByText(/^2\dd ago$/)
      .first()
      .waitFor()
  },
  {},
  { MAILKEEP_DISPATCH: 'false' },
)
