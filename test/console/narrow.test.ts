/** Bars in the dark. */
import assert from 'node:assert/strict'
import Database from 'better-sqlite3'
import type { Page } from 'playwright-core'
import { assertAccessible, consoleTest } from './world.ts'

const html = '<p>Hello</p><p><a href="{{ unsubscribe_url }}">Unsubscribe</a></p>'

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
