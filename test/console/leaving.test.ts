/** Pages that are left, by a link, a key or the Back button, and what becomes of words that are not saved. */
import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { until } from '../support/harness.ts'
import { consoleTest, during, gate, heading, holdBack, loaded, type World } from './world.ts'

interface Sequence {
  readonly steps: readonly { readonly subject: string }[]
}

const step = { delay_seconds: 0, subject: 'Welcome', html: '<p>{{ unsubscribe_url }}</p>' }

/** Answers the question before a page is left. */
async function answer(page: Page, button: 'Leave' | 'Cancel'): Promise<void> {
  const dialog = page.getByRole('dialog', { name: 'Leave without saving?' })
  await dialog.getByRole('button', { name: button }).click()
  await dialog.waitFor({ state: 'detached' })
}

consoleTest(
  'a step that is not saved is not lost by a link, a key or the Back button',
  async ({ page, visit, data }) => {
    await data('POST', '/sequences', { name: 'Welcome' })
    await data('PUT', '/sequences/1/steps', { steps: [step] })
    await visit('/console/sequences')
    await page.getByRole('link', { name: 'Welcome' }).click()
    await heading(page, 'Welcome')
    await page.getByRole('button', { name: 'Edit Welcome' }).click()
    const subject = page.getByLabel('Subject')
    await subject.fill('A long letter')
    await page.getByRole('link', { name: 'Contacts' }).click()
    await answer(page, 'Cancel')
    await page.getByRole('button', { name: 'Save step' }).focus()
    await page.keyboard.press('g')
    await page.keyboard.press('c')
    await answer(page, 'Cancel')
    await page.goBack()
    await answer(page, 'Cancel')
    await heading(page, 'Welcome')
    assert.match(page.url(), /\/console\/sequences\/1$/)
    assert.equal(await subject.inputValue(), 'A long letter')
    await page.getByRole('button', { name: 'Save step' }).click()
    await page.getByText('The steps are saved.').waitFor()
    assert.equal((await data<Sequence>('GET', '/sequences/1')).steps[0]!.subject, 'A long letter')
    await page.getByRole('link', { name: 'Contacts' }).click()
    await heading(page, 'Contacts')
  },
)

consoleTest('a page is left without saving if the user says so', async ({ page, visit }) => {
  await visit('/console/contacts')
  await page.getByRole('link', { name: 'Page settings' }).click()
  await heading(page, 'Page settings')
  await page.getByLabel('Name', { exact: true }).fill('Acme')
  await page.goBack()
  await answer(page, 'Leave')
  await heading(page, 'Contacts')
  await page.getByRole('link', { name: 'Page settings' }).click()
  await heading(page, 'Page settings')
  assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), '')
  await page.getByRole('link', { name: 'Contacts' }).click()
  await heading(page, 'Contacts')
})

consoleTest('a page that is left while its save runs is left after that', async ({ page, visit, data }) => {
  await data('POST', '/sequences', { name: 'Welcome' })
  await data('PUT', '/sequences/1/steps', { steps: [step] })
  await visit('/console/sequences/1')
  await page.getByRole('button', { name: 'Edit Welcome' }).click()
  const letStore = await holdBack(page, 'PUT', '/api/v1/sequences/1/steps')
  await page.getByLabel('Subject').fill('A long letter')
  await page.getByRole('button', { name: 'Save step' }).click()
  await page.getByRole('button', { name: 'Please wait…' }).waitFor()
  await page.getByRole('link', { name: 'Contacts' }).click()
  letStore()
  await heading(page, 'Contacts')
  assert.equal(await page.getByRole('dialog').count(), 0)
  assert.equal((await data<Sequence>('GET', '/sequences/1')).steps[0]!.subject, 'A long letter')
})

consoleTest('words that a save refuses while the page is left stay', async (world) => {
  const { page, visit, data, allowErrors } = world
  allowErrors()
  await data('POST', '/sequences', { name: 'Welcome' })
  await data('PUT', '/sequences/1/steps', { steps: [step] })
  await data('POST', '/newsletters', { subject: 'Old', html: step.html })
  for (const [path, method, api, label, button] of [
    ['/console/sequences/1', 'PUT', '/api/v1/sequences/1/steps', 'Subject', 'Save step'],
    ['/console/pages', 'PUT', '/api/v1/settings/pages', 'Postal address', 'Save'],
    ['/console/newsletters/1', 'PATCH', '/api/v1/newsletters/1', 'Subject', undefined],
  ] as const) {
    await visit(path)
    if (button === 'Save step') await page.getByRole('button', { name: 'Edit Welcome' }).click()
    const { promise, resolve: letAnswer } = gate()
    const end = await during(page, method, api, async (route) => {
      await promise
      await route.fulfill({ status: 503, body: '{}' })
    })
    await page.getByLabel(label).fill('A long letter')
    if (button) await page.getByRole('button', { name: button, exact: true }).click()
    await page.getByRole('link', { name: 'Contacts' }).click()
    letAnswer()
    await answer(page, 'Cancel')
    assert.equal(await page.getByLabel(label).inputValue(), 'A long letter')
    await end()
  }
})

consoleTest('words that are not saved are not lost by signing out', async ({ page, visit, url, token }) => {
  await visit('/console/pages')
  const address = page.getByLabel('Postal address')
  await address.fill('Main Street 1')
  await page.getByRole('button', { name: 'Sign out' }).click()
  await answer(page, 'Cancel')
  await page.goto(`${url}/console/pages#token=${token}`)
  await answer(page, 'Cancel')
  assert.equal(await address.inputValue(), 'Main Street 1')
  assert.equal(page.url(), `${url}/console/pages`)
  await page.goto(`${url}/console/pages#token=${token}`)
  await answer(page, 'Leave')
  await until(
    () => address.inputValue(),
    (text) => text === '',
  )
  await address.fill('Main Street 1')
  await page.getByRole('button', { name: 'Sign out' }).click()
  await answer(page, 'Leave')
  await page.getByLabel('API token').waitFor()
})

consoleTest('the Back button with Leave goes back in the history', async ({ page, visit }) => {
  await visit('/console/lists')
  await page.getByRole('link', { name: 'Tags', exact: true }).click()
  await heading(page, 'Tags')
  await page.getByRole('link', { name: 'Page settings' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Acme')
  await page.goBack()
  await answer(page, 'Cancel')
  await page.goBack()
  await answer(page, 'Leave')
  await heading(page, 'Tags')
  await page.goForward()
  await heading(page, 'Page settings')
  await page.goBack()
  await heading(page, 'Tags')
  await page.goBack()
  await heading(page, 'Lists and topics')
})

consoleTest(
  'a form that is not left by the Back button is not scrolled',
  async ({ page, visit }) => {
    await visit('/console/tags')
    await page.getByRole('button', { name: 'Menu' }).click()
    await page.getByRole('link', { name: 'Page settings' }).click()
    const address = page.getByLabel('Postal address')
    await address.fill('Main Street 1')
    await address.blur() // the browser scrolls to a field that gets the focus again
    await page.evaluate('document.querySelector("[name=postal]").scrollIntoView()')
    const top = await page.evaluate<number>('scrollY')
    assert.ok(top > 100, `${top}`)
    await page.goBack()
    await answer(page, 'Cancel')
    await page.evaluate('new Promise(requestAnimationFrame)')
    assert.equal(await page.evaluate('scrollY'), top)
  },
  { viewport: { width: 390, height: 500 } },
)

consoleTest('the Back button asks nothing behind the form to sign in again', async (world) => {
  const { page, url, data, allowErrors } = world
  allowErrors()
  const own = await data<{ id: number; token: string }>('POST', '/tokens', { name: 'mine', role: 'admin' })
  await page.goto(`${url}/#token=${own.token}`)
  await page.getByRole('link', { name: 'Page settings' }).click()
  const name = page.getByLabel('Name', { exact: true })
  await name.fill('Acme')
  await data('DELETE', `/tokens/${own.id}`)
  await page.getByRole('button', { name: 'Save' }).click()
  const dialog = page.getByRole('dialog', { name: 'Sign in again' })
  await dialog.waitFor()
  await page.goBack()
  await page.waitForURL('**/console/pages')
  await dialog.getByLabel('API token').fill(world.token)
  await page.keyboard.press('Enter')
  await dialog.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The settings are saved.').waitFor()
  assert.equal(await page.getByRole('dialog').count(), 0)
  assert.equal((await data<{ name: string }>('GET', '/settings/pages')).name, 'Acme')
})

consoleTest('words in a dialog are not lost by the Back button', async ({ page, visit, data }) => {
  await data('POST', '/contacts', { email: 'ada@example.org', name: 'Ada' })
  await visit('/console/contacts')
  await page.getByRole('link', { name: 'ada@example.org' }).click()
  await page.getByRole('button', { name: 'Edit' }).click()
  const dialog = page.getByRole('dialog', { name: 'Edit contact' })
  await dialog.getByLabel('Name', { exact: true }).click()
  await page.keyboard.type(' Lovelace')
  await page.goBack()
  await answer(page, 'Cancel')
  assert.equal(await dialog.getByLabel('Name', { exact: true }).inputValue(), 'Ada Lovelace')
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
})

consoleTest(
  'the title of a view that was opened has the focus, and Tab moves on in the view',
  async ({ page, visit, data }) => {
    await data('POST', '/contacts', { email: 'ada@example.org', name: 'Ada' })
    await visit('/console/contacts')
    await loaded(page)
    const focused = () => page.evaluate('document.activeElement.textContent')
    await page.keyboard.press('Tab')
    assert.equal(await focused(), 'Skip to the content')
    await page.getByRole('link', { name: 'Ada' }).focus()
    await page.keyboard.press('Enter')
    await page.locator('h1:focus', { hasText: 'Ada' }).waitFor()
    await page.keyboard.press('Tab')
    assert.equal(await focused(), 'Edit')
    await page.getByRole('link', { name: 'Lists' }).click()
    await page.locator('h1:focus', { hasText: 'Lists' }).waitFor()
  },
)

consoleTest('a page that is loaded by its address leaves the focus where it is', async ({ page, visit, data }) => {
  await data('POST', '/contacts', { email: 'ada@example.org', name: 'Ada' })
  await visit('/console/contacts')
  const letLoad = await holdBack(page, 'GET', '/api/v1/contacts/1')
  await page.goto(page.url().replace('/contacts', '/contacts/1'))
  await heading(page, 'Contact')
  const tags = page.getByRole('link', { name: 'Tags', exact: true })
  await tags.focus()
  letLoad()
  await heading(page, 'Ada')
  await page.getByText('Nothing yet.').or(page.locator('.history')).first().waitFor()
  assert.equal(await page.evaluate('document.activeElement.textContent'), 'Tags')
})

/** Adds a contact whose history has 26 entries. */
async function addLongHistory(data: World['data']): Promise<void> {
  await data('POST', '/contacts', { email: 'ada@example.org', name: 'Ada' })
  for (let n = 0; n < 13; n++) {
    await data('POST', '/contacts/1/unsubscribe')
    await data('POST', '/contacts/1/resubscribe')
  }
}

consoleTest('an action on a later page of the history shows its newest entry', async ({ page, visit, data }) => {
  await addLongHistory(data)
  await visit('/console/contacts/1')
  await page.getByRole('link', { name: 'Next →' }).click()
  await page.waitForURL('**?history=*')
  await page.getByRole('button', { name: 'Unsubscribe' }).click()
  await page.waitForURL('**/console/contacts/1')
  await page.locator('.history li').nth(19).waitFor()
})

consoleTest('an address that is stored is shown, and not overwritten', async ({ page, visit, data }) => {
  await data('POST', '/contacts', { email: 'ada@example.org', name: 'Ada' })
  await data('POST', '/contacts/1/unsubscribe')
  await visit('/console/contacts')
  await page.getByRole('button', { name: 'New contact' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('E-mail').fill('ADA@example.org')
  await dialog.getByLabel('Name', { exact: true }).fill('Eve')
  await page.getByRole('button', { name: 'Create contact' }).click()
  await page.getByText('ada@example.org is a contact already. Nothing was changed.').waitFor()
  await heading(page, 'Ada')
})

consoleTest('the history of a contact is read page by page', async ({ page, visit, data }) => {
  await addLongHistory(data)
  await visit('/console/contacts/1')
  const entries = page.locator('.history li')
  await entries.nth(19).waitFor()
  await page.getByRole('link', { name: 'Next →' }).click()
  await entries.nth(6).waitFor({ state: 'detached' })
  assert.equal(await entries.count(), 6)
  await page.getByRole('link', { name: '← Previous' }).click()
  await entries.nth(19).waitFor()
})

consoleTest('who has left a page is not brought back when its action is done', async ({ page, visit, data }) => {
  await data('POST', '/newsletters', { name: 'January', subject: 'Hi', html: '<p>{{ unsubscribe_url }}</p>' })
  await visit('/console/newsletters/1')
  const letDelete = await holdBack(page, 'DELETE', '/api/v1/newsletters/1')
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('link', { name: 'Page settings' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Acme')
  letDelete()
  await page.getByText('The newsletter is deleted.').waitFor()
  await heading(page, 'Page settings')
  assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'Acme')
})
