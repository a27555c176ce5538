/** The place of the focus when an action removes the element that has it. */
import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { until } from '../support/harness.ts'
import { consoleTest, type World } from './world.ts'

const html = '<p>{{ unsubscribe_url }}</p>'

/** Presses a button by the keyboard. */
async function press(page: Page, name: string | RegExp, isInDialog = false): Promise<void> {
  const button = (isInDialog ? page.getByRole('dialog') : page).getByRole('button', { name, exact: true })
  await button.focus()
  await page.keyboard.press('Enter')
}

/** Waits until the focus is on an element with this text, or on a field with this label. */
async function focusOn(page: Page, text: string): Promise<void> {
  const focused = `(document.activeElement.labels?.[0] ?? document.activeElement).textContent.trim()`
  await until(
    () => page.evaluate(focused),
    (found) => found === text,
  )
}

consoleTest('the focus goes to the title of a listing when its row is removed', async ({ page, visit, data }) => {
  for (const name of ['News', 'Offers']) await data('POST', '/lists', { name })
  await data('POST', '/suppressions', { email: 'ada@example.org' })
  await visit('/console/lists')
  await press(page, 'Delete News')
  await press(page, 'Delete', true)
  await focusOn(page, 'Lists and topics')
  await visit('/console/suppressions')
  await press(page, 'Remove ada@example.org')
  await press(page, 'Remove', true)
  await focusOn(page, 'Suppressions')
})

consoleTest('the focus stays in the section of a contact that changes', async ({ page, visit, data }) => {
  await data('POST', '/lists', { name: 'News' })
  await data('POST', '/contacts', { email: 'ada@example.org', tags: ['vip', 'press'], plan: 'pro' })
  await visit('/console/contacts/1')
  await press(page, 'Remove tag vip')
  await focusOn(page, 'Tags')
  for (const name of ['Cancel', 'Put on list']) {
    await press(page, 'Put on a list')
    await page.locator('select:focus').waitFor()
    await press(page, name)
    await focusOn(page, 'Lists and topics')
  }
  await press(page, 'Edit')
  await press(page, 'Remove attribute 1', true)
  await focusOn(page, 'Attributes')
})

consoleTest('the focus goes to the title of a newsletter whose buttons change', async ({ page, visit, data }) => {
  const operations = Array.from({ length: 40 }, (_, at) => ({ op: 'upsert', email: `c${at}@example.org` }))
  await data('POST', '/contacts/batch', { operations })
  await data('POST', '/newsletters', { name: 'January', subject: 'Hello', html })
  await data('POST', '/newsletters/1/send', { at: '2040-01-01T00:00:00Z' })
  await visit('/console/newsletters/1')
  await press(page, 'Cancel')
  await press(page, 'Cancel the newsletter', true)
  await focusOn(page, 'January')
})

/** Creates a sequence with two steps, and opens it. */
async function visitSteps({ visit, data }: World): Promise<void> {
  await data('POST', '/sequences', { name: 'Welcome' })
  const steps = ['First', 'Second'].map((subject) => ({ delay_seconds: 0, subject, html }))
  await data('PUT', '/sequences/1/steps', { steps })
  await visit('/console/sequences/1')
}

consoleTest('the focus goes into the form of a step, and back to the steps', async (world) => {
  const { page } = world
  await visitSteps(world)
  for (const [name, field] of [
    ['New step', 'Hours after the step before'],
    ['Edit First', 'Hours after the enrolment'],
  ] as const) {
    await press(page, name)
    await focusOn(page, field)
    await press(page, 'Cancel')
    await focusOn(page, 'Steps')
  }
})

consoleTest('the focus stays on the button of a step that moves, or goes to the steps', async (world) => {
  const { page, data } = world
  await visitSteps(world)
  const { steps } = await data<{ steps: object[] }>('GET', '/sequences/1')
  await data('PUT', '/sequences/1/steps', { steps: [...steps, { delay_seconds: 0, subject: 'Third', html }] })
  await page.reload()
  await press(page, 'Move up Third')
  await page.getByText('The steps are saved.').waitFor()
  assert.equal(await page.evaluate('document.activeElement.ariaLabel'), 'Move up Third')
  await page.keyboard.press('Enter')
  await focusOn(page, 'Steps')
})

consoleTest('the focus is not moved for those who have clicked beside every field', async ({ page, visit, data }) => {
  await data('POST', '/contacts', { email: 'ada@example.org', tags: ['vip', 'press'] })
  await visit('/console/contacts/1')
  await page.getByLabel('Tags to add').focus()
  await page.mouse.click(5, 5) // in the menu
  await data('DELETE', '/contacts/1/tags', { tags: ['vip'] })
  await page.getByRole('button', { name: 'Unsubscribe' }).dispatchEvent('click')
  await page.getByRole('button', { name: 'Remove tag vip' }).waitFor({ state: 'detached' })
  assert.equal(await page.evaluate('document.activeElement === document.body'), true)
})

consoleTest('a field that is left right after a removal does not get the focus back', async ({ page, visit }) => {
  await page.clock.install()
  await visit('/console/contacts')
  await page.locator('main [data-search]').waitFor()
  await page.evaluate(`(async () => {
    const removed = document.createElement('button')
    document.querySelector('main').append(removed)
    removed.focus()
    removed.remove()
    await undefined // observers of changes run before
    document.querySelector('main [data-search]').focus()
    document.activeElement.blur()
  })()`)
  await page.clock.runFor(1000)
  assert.equal(await page.evaluate('document.activeElement === document.body'), true)
})

consoleTest(
  'the focus goes back to the button of the menu when Escape closes it',
  async ({ page, visit }) => {
    await visit('/')
    const sections = page.getByRole('navigation', { name: 'Sections' })
    await press(page, 'Menu')
    await sections.waitFor()
    await page.keyboard.press('Tab')
    await focusOn(page, 'Overview')
    await page.keyboard.press('Escape')
    await sections.waitFor({ state: 'hidden' })
    await focusOn(page, 'Menu')
  },
  { viewport: { width: 375, height: 700 } },
)
