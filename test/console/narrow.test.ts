/** Buttons, choices and bars where there is little room, and in the dark. */
import assert from 'node:assert/strict'
import Database from 'better-sqlite3'
import type { Locator, Page } from 'playwright-core'
import { assertAccessible, consoleTest, loaded } from './world.ts'

const html = '<p>Hello</p><p><a href="{{ unsubscribe_url }}">Unsubscribe</a></p>'

/** Returns the places of the elements, in pixels. */
async function boxesOf(found: Locator) {
  await found.first().waitFor()
  return await Promise.all((await found.all()).map(async (one) => (await one.boundingBox())!))
}

consoleTest(
  'on a phone buttons stay side by side, and choices leave no gap',
  async ({ page, visit, data, file }) => {
    const steps = ['Welcome', 'A subject that is longer than a line of a phone'].map((subject) => ({
      delay_seconds: 86_400,
      subject,
      html,
    }))
    await data('POST', '/sequences', { name: 'Welcome', status: 'paused', steps })
    await data('POST', '/newsletters', { subject: 'Hello', name: 'A name that is longer than its column', html })
    await data('POST', '/webhook-endpoints', { url: 'http://127.0.0.1:9/hook', events: ['contact.created'] })
    const db = new Database(file)
    db.exec(`update mailkeep_endpoint set active = 0, disabled_reason = 'auto_failures'`)
    db.close()

    await visit('/console/sequences/1')
    const rows = page.locator('.membership')
    for (const at of [0, 1]) {
      const places = await boxesOf(rows.nth(at).getByRole('button'))
      assert.equal(places.length, at + 2)
      assert.equal(
        new Set(places.map(({ y }) => y)).size,
        1,
        `the buttons of step ${at + 1}: ${JSON.stringify(places)}`,
      )
    }
    await assertAccessible(page, 'a sequence')

    await visit('/console/newsletters/1')
    const tops = (await boxesOf(page.locator('.head .actions button'))).map(({ y }) => y)
    const inEachLine = [...new Set(tops)].map((top) => tops.filter((other) => other === top).length)
    assert.deepEqual(inEachLine, [3, 2], 'the buttons of a draft')

    await visit('/console/deliveries')
    await loaded(page)
    const edges = (await boxesOf(page.locator('.filters select'))).map(({ x, width }) => Math.round(x + width))
    const [main] = await boxesOf(page.locator('.filters'))
    const right = Math.round(main!.x + main!.width)
    assert.equal(edges.filter((edge) => edge === right).length, 2, `${edges} of ${right}`)
    await assertAccessible(page, 'deliveries')

    await page.clock.setFixedTime(Date.now() + 11 * 60_000)
    await visit('/console/newsletters')
    await page.getByText('11 minutes ago').waitFor()
    const lines = await page.evaluate('document.querySelector("td time").getClientRects().length')
    assert.equal(lines, 2)
    await assertAccessible(page, 'newsletters')

    await page.getByRole('button', { name: 'Menu' }).click()
    await page.getByRole('link', { name: 'Overview' }).click()
    const [state] = await boxesOf(page.getByText('off after failures', { exact: true }))
    const [line] = await boxesOf(page.locator('.states li a'))
    assert.ok(state!.height <= line!.height, `${state!.height} pixels`)
  },
  { viewport: { width: 375, height: 700 } },
)

/** Returns how bright a picture is at a part of its width: 0 is black, 1 is white. */
async function brightnessAt(page: Page, picture: Buffer, part: number): Promise<number> {
  return await page.evaluate(`(async () => {
    const image = new Image()
    image.src = 'data:image/png;base64,${picture.toString('base64')}'
    await image.decode()
    const { width, height } = image
    const context = Object.assign(document.createElement('canvas'), { width, height }).getContext('2d')
    context.drawImage(image, 0, 0)
    const [red, green, blue] = context.getImageData(width * ${part}, height / 2, 1, 1).data
    return (red + green + blue) / 3 / 255
  })()`)
}

consoleTest(
  'in the dark, a bar at its start does not look as if it were full',
  async ({ page, visit, data, file }) => {
    await data('POST', '/contacts', { email: 'ada@example.org' })
    await data('POST', '/email-identities', { email: 'news@example.com', name: 'News' })
    await data('POST', '/newsletters', { subject: 'Hello', html })
    await data('POST', '/newsletters/1/send', {})
    const db = new Database(file)
    db.pragma('busy_timeout = 10000')
    db.exec(`update mailkeep_newsletter set status = 'paused'`)
    db.close()
    await visit('/console/newsletters/1')
    const picture = await page.getByRole('progressbar').screenshot()
    const brightness = await brightnessAt(page, picture, 0.9)
    assert.ok(brightness < 0.5, `the empty part has a brightness of ${brightness}`)
    await assertAccessible(page, 'a newsletter in the dark')
  },
  { colorScheme: 'dark' },
  { MAILKEEP_DISPATCH: 'false' },
)
