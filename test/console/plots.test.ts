/** The labels of the plots on the overview, which are drawn on a canvas. */
import assert from 'node:assert/strict'
import Database from 'better-sqlite3'
import type { Page } from 'playwright-core'
import { consoleTest, loaded } from './world.ts'

const hourMs = 3_600_000

/** Stores that many delivered deliveries in each of the last 72 hours. */
function fillHours(file: string, delivered: number): void {
  const db = new Database(file)
  try {
    const insert = db.prepare(
      `insert into mailkeep_delivery_count values (1, 0, 'hour', ?, ?, 0, 0, ?, 0, 0, 0, 0, 0, 0, 0)`,
    )
    for (let n = 0; n < 72; n++) {
      const at = new Date(Math.floor(Date.now() / hourMs - n) * hourMs)
      insert.run(at.toISOString().replace('Z', '000Z'), delivered, delivered)
    }
  } finally {
    db.close()
  }
}

/** Notes the texts that each canvas shows, with their places in pixels. */
const noteLabels = `(() => {
  window.labels = new Map()
  const { clearRect, fillText } = CanvasRenderingContext2D.prototype
  CanvasRenderingContext2D.prototype.clearRect = function (...area) {
    labels.set(this.canvas, [])
    clearRect.apply(this, area)
  }
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    const { width } = this.measureText(text)
    const left = x - { right: width, center: width / 2 }[this.textAlign]
    labels.get(this.canvas)?.push({ text, left, right: left + width, y })
    fillText.call(this, text, x, y)
  }
})()`

interface Label {
  readonly text: string
  readonly left: number
  readonly right: number
  readonly y: number
}

/** Returns the labels of each plot on the page. */
async function labelsOf(page: Page): Promise<readonly (readonly Label[])[]> {
  await loaded(page)
  await page.locator('canvas').nth(2).waitFor()
  await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))')
  return await page.evaluate('[...labels].filter(([canvas]) => canvas.isConnected).map(([, texts]) => texts)')
}

consoleTest('large numbers beside a plot are shown as a whole', async ({ page, visit, file }) => {
  fillHours(file, 7_500_000)
  await page.addInitScript(noteLabels)
  await visit('/')
  const labels = (await labelsOf(page)).flat()
  assert.ok(labels.some(({ text }) => text === '8,000,000'))
  assert.deepEqual(
    labels.filter(({ left }) => left < 0),
    [],
  )
})

consoleTest(
  'times below a plot do not overlap on a phone, at any time of the day',
  async ({ page, visit, file }) => {
    fillHours(file, 7_500_000)
    await page.addInitScript(noteLabels)
    await visit('/')
    const midnightMs = Math.floor(Date.now() / (24 * hourMs)) * 24 * hourMs
    for (let hour = 1; hour <= 24; hour++) {
      await page.clock.setFixedTime(midnightMs - hour * hourMs + 30 * 60_000)
      await page.reload()
      for (const labels of await labelsOf(page)) {
        for (const { text, right, y } of labels) {
          const covered = labels.find((other) => other.y === y && other.right > right && other.left < right)
          assert.equal(covered?.text, undefined, `${text} at ${hour} hours before midnight`)
        }
      }
    }
  },
  { viewport: { width: 360, height: 780 }, timezoneId: 'UTC' },
)

consoleTest('the overview shows newer figures when it is refreshed', async ({ page, visit, data }) => {
  await data('POST', '/contacts', { email: 'ada@example.org' })
  await visit('/')
  const subscribed = page.locator('.figures div').filter({ hasText: 'Subscribed contacts' }).locator('dd')
  await subscribed.getByText('1', { exact: true }).waitFor()
  await data('POST', '/contacts', { email: 'bob@example.org' })
  await page.getByRole('button', { name: 'Refresh' }).click()
  await subscribed.getByText('2', { exact: true }).waitFor()
})

consoleTest('the table of a plot names each time with its month and its zone', async ({ page, visit }) => {
  await visit('/')
  const time = await page.locator('.scroll tbody td:first-child').first().textContent()
  assert.match(time ?? '', /^[A-Z][a-z]{2} \d{1,2}, \d{4}, \d{1,2}:\d\d:00\s[AP]M \S+$/)
})
