/** The contact pages in a browser: without scripts, by keyboard, on a phone, in light and dark. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { BrowserContextOptions } from 'playwright-core'
import { accessibilityViolations, closeBrowser, launchBrowser, openTab } from '../support/browser.ts'
import { openService } from '../support/harness.ts'

const found = await launchBrowser()
after(closeBrowser)

const email = 'ada.lovelace@example.org'
/** Folder for pictures of each page; none are made by default. */
const pictures = process.env.MAILKEEP_TEST_PICTURES

/** Opens a service with a contact on two lists with topics, and a tab. */
async function open(t: Parameters<typeof openService>[0], options: BrowserContextOptions = {}) {
  const service = await openService(t)
  const { client } = service
  const news = await client.lists.create({ name: 'News' })
  const events = await client.lists.create({ name: 'Events in your town' })
  const weekly = await client.topics.create(news.id, { name: 'Weekly digest', description: 'Every Monday morning' })
  await client.topics.create(news.id, { name: 'Offers', description: 'Discounts, at most twice a month' })
  const { contact } = await client.contacts.addToList(news.id, { email })
  await client.contacts.addToList(events.id, { email })
  await client.contacts.subscribeToTopic(contact.id, weekly.id)
  const links = await client.contacts.links(contact.id)
  assert.ok('browser' in found)
  const tab = await openTab(found.browser, service.url, { javaScriptEnabled: false, ...options })
  t.after(async () => {
    await tab.context.close()
    assert.deepEqual(tab.problems, [], 'the browser reported problems')
  })
  const read = () => client.contacts.get(contact.id)
  return { ...service, ...tab, ...links, read }
}

describe('the contact pages in a browser', { skip: 'skip' in found && found.skip }, () => {
  test('unsubscribe and subscribe again, without a script', async (t) => {
    const { page, context, unsubscribe_url, read } = await open(t)
    await page.goto(unsubscribe_url)
    assert.equal((await read()).unsubscribed_at, null)
    await page.getByRole('button', { name: 'Unsubscribe' }).click()
    await page.getByRole('heading', { name: 'You are unsubscribed' }).waitFor()
    assert.equal((await read()).unsubscribed_by_contact, true)
    await page.reload() // sends the form again
    await page.getByRole('button', { name: 'Subscribe again' }).click()
    await page.getByRole('heading', { name: 'You are subscribed again' }).waitFor()
    assert.equal((await read()).unsubscribed_at, null)
    assert.deepEqual(await context.cookies(), [])
  })

  test('save choices, by keyboard alone', async (t) => {
    const { page, preferences_url, read } = await open(t)
    await page.goto(preferences_url)
    const focused = async () => {
      await page.keyboard.press('Tab')
      const element = page.locator(':focus')
      const name = await element.locator('xpath=ancestor-or-self::*[self::label or self::button]').textContent()
      return { name, outline: await element.evaluate((one) => getComputedStyle(one).outline) }
    }
    const order = ['News', 'Weekly digest', 'Offers', 'Events in your town', 'Save', 'Unsubscribe from everything']
    for (const name of order) {
      const { name: shown, outline } = await focused()
      assert.ok(shown?.startsWith(name), `${shown} instead of ${name}`)
      assert.match(outline, /solid 3px$/)
      if (name === 'Weekly digest' || name === 'Offers' || name === 'Events in your town')
        await page.keyboard.press('Space')
    }
    await page.keyboard.press('Shift+Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('status').getByText('Your choices are saved.').waitFor()
    const { lists, topics } = await read()
    assert.deepEqual(
      lists.map(({ name }) => name),
      ['News'],
    )
    assert.deepEqual(
      topics.map(({ name }) => name),
      ['Offers'],
    )
    assert.equal(await page.getByLabel('Offers').isChecked(), true)
    assert.equal(await page.getByLabel('Weekly digest').isChecked(), false)
  })

  test('show each name and text in the direction of its letters', async (t) => {
    const { page, client, data, unsubscribe_url, preferences_url } = await open(t)
    const list = await client.lists.create({ name: 'רשימת תפוצה: News' })
    await client.contacts.addToList(list.id, { email })
    await client.topics.create(list.id, { name: 'النشرة (2026)!', description: 'Every Monday, בבוקר' })
    const texts = {
      unsubscribe_title: '{email}: להסרה',
      unsubscribe_text: 'להסיר את {email} מהרשימה?',
      unsubscribe_button: 'הסרה!',
      preferences_text: '{email}: בחירה',
      preferences_saved: 'نُشر!',
    }
    await data(200, 'PUT', '/settings/pages', { body: { name: 'חברה (2026)', texts } })
    const directionOf = async (selector: string) =>
      await page
        .locator(selector)
        .first()
        .evaluate((one) => getComputedStyle(one).direction)
    await page.goto(unsubscribe_url)
    for (const selector of ['.sender', 'h1', 'p', 'button']) assert.equal(await directionOf(selector), 'rtl', selector)
    assert.equal(await directionOf('bdi'), 'ltr')
    assert.equal(await page.title(), `${email}: להסרה · חברה (2026)`)
    if (pictures) await page.screenshot({ path: `${pictures}/unsubscribe-rtl.png`, fullPage: true })
    await page.goto(preferences_url)
    await page.getByRole('button', { name: 'Save' }).click()
    const right = ['legend', '.notice', 'span:has-text("תפוצה")', 'span:has-text("النشرة")']
    for (const selector of right) assert.equal(await directionOf(selector), 'rtl', selector)
    for (const selector of ['small:has-text("בבוקר")', 'span:has-text("Offers")', 'h1']) {
      assert.equal(await directionOf(selector), 'ltr', selector)
    }
    if (pictures) await page.screenshot({ path: `${pictures}/preferences-rtl.png`, fullPage: true })
  })

  for (const [colorScheme, colour] of [
    ['light', '#ffffff'],
    ['dark', '#1b1f24'],
  ] as const) {
    test(`show the box of a checked choice in ${colorScheme} colours, if the client's colour is the card's`, async (t) => {
      const { page, data, preferences_url } = await open(t, { colorScheme })
      await data(200, 'PUT', '/settings/pages', { body: { colour } })
      await page.goto(preferences_url)
      const card = await page.locator('main').evaluate((one) => getComputedStyle(one).backgroundColor)
      const box = page.getByLabel('Events in your town')
      assert.notEqual(await box.evaluate((one) => getComputedStyle(one).accentColor), card)
      if (pictures) await page.screenshot({ path: `${pictures}/preferences-box-${colorScheme}.png`, fullPage: true })
    })
  }

  const desktop = { width: 1280, height: 800 }
  const phone = { width: 375, height: 700 }
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const [size, viewport] of [
      ['a screen', desktop],
      ['a phone', phone],
    ] as const) {
      test(`are accessible on ${size} in ${colorScheme} colours`, async (t) => {
        // axe is a script. It is evaluated by the browser, not by the page, so the policy stays in force.
        const { page, data, ...service } = await open(t, {
          colorScheme,
          viewport,
          javaScriptEnabled: true,
          reducedMotion: 'reduce',
        })
        const check = async (name: string) => {
          assert.deepEqual(await accessibilityViolations(page), [], name)
          const width = await page.evaluate<number>('document.documentElement.scrollWidth')
          assert.ok(width <= viewport.width, `${name} scrolls sideways: ${width}`)
          for (const target of await page.locator('button, label').all()) {
            assert.ok((await target.boundingBox())!.height >= 44, `${name}: a target is too small for a finger`)
          }
          if (pictures)
            await page.screenshot({ path: `${pictures}/${name}-${size}-${colorScheme}.png`, fullPage: true })
        }
        for (const colour of [null, '#ffcc00', '#111111', '#ffffff']) {
          const look = colour === null ? {} : { name: 'Acme Gardens', colour }
          await data(200, 'PUT', '/settings/pages', { body: look })
          await page.goto(service.unsubscribe_url)
          await check(`unsubscribe${colour ?? ''}`)
          if (colour !== null && colour !== '#ffcc00') continue
          await page.getByRole('button', { name: 'Unsubscribe' }).click()
          await check(`unsubscribed${colour ?? ''}`)
          await page.getByRole('button').click()
          await check(`resubscribed${colour ?? ''}`)
          await page.goto(service.preferences_url)
          await check(`preferences${colour ?? ''}`)
          await page.getByRole('button', { name: 'Save' }).click()
          await check(`saved${colour ?? ''}`)
        }
        await page.goto(service.unsubscribe_url.replace('/c/', '/c/x'))
        await check('broken')
      })
    }
  }
})
