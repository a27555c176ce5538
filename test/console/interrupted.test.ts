/** What people see, and keep, when the server, the session or the page ends in the middle of their work. */
import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import type { Route } from 'playwright-core'
import { until } from '../support/harness.ts'
import { openReceiver } from '../support/http-receiver.ts'
import { runJson } from '../support/program.ts'
import { consoleTest, during, heading, holdBack, loaded } from './world.ts'

const link = '<a href="{{ unsubscribe_url }}">Leave</a>'

const refuse = (route: Route) => route.fulfill({ status: 503, body: '{}' })

interface Newsletter {
  readonly subject: string
  readonly html: string
  readonly status: string
}

consoleTest('a draft with a wrong field says so, and is not sent as it was before', async ({ page, visit, data }) => {
  await data('POST', '/contacts', { email: 'ada@example.org' })
  await data('POST', '/newsletters', { subject: 'Old', html: link })
  await visit('/console/newsletters/1')
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
  await page.getByLabel('Subject').fill('')
  await page.getByLabel('HTML').fill(`<p>New</p>${link}`)
  await page.getByText('The last change is not saved.').waitFor()
  await page.getByRole('alert').getByText('Subject:').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Send', exact: true }).count(), 0)
  await page.getByLabel('Subject').fill('New')
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
  const stored = () => data<Newsletter>('GET', '/newsletters/1')
  await until(stored, ({ html }) => html === `<p>New</p>${link}`)
})

consoleTest('a newsletter is sent after its last change is stored, however long that takes', async (world) => {
  const { page, visit, data } = world
  await data('POST', '/contacts', { email: 'ada@example.org' })
  await data('POST', '/newsletters', { subject: 'Old', html: link })
  await visit('/console/newsletters/1')
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
  const letStore = await holdBack(page, 'PATCH', '/api/v1/newsletters/1')
  await page.getByLabel('Subject').fill('New')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.locator('button[aria-busy="true"]').waitFor()
  assert.equal(await page.getByRole('dialog').count(), 0)
  assert.equal((await data<Newsletter>('GET', '/newsletters/1')).status, 'draft')
  letStore()
  await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click()
  await page.getByText('1 of 1 messages are final').waitFor()
  assert.equal((await data<Newsletter>('GET', '/newsletters/1')).subject, 'New')
})

consoleTest('a scheduled newsletter is not sent before its change is saved', async ({ page, visit, data }) => {
  await data('POST', '/newsletters', { subject: 'Old', html: link })
  await data('POST', '/newsletters/1/send', { at: '2040-01-01T00:00:00Z' })
  await visit('/console/newsletters/1')
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
  await page.getByLabel('Subject').fill('New')
  await page.getByText('The last change is not saved.').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Send', exact: true }).count(), 0)
  const stored = page.waitForResponse((response) => response.request().method() === 'PATCH')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
  await stored // the button is there before, and waits for it when it is pressed
  assert.equal((await data<Newsletter>('GET', '/newsletters/1')).subject, 'New')
})

consoleTest('a draft that is left at once is stored', async ({ page, visit, data }) => {
  await data('POST', '/newsletters', { subject: 'Old', html: link })
  await visit('/console/newsletters')
  await page.getByRole('link', { name: 'Old' }).click()
  await page.getByLabel('Subject').fill('Old and new')
  const stored = page.waitForResponse((response) => response.request().method() === 'PATCH')
  await page.goBack()
  await stored
  await heading(page, 'Newsletters')
  assert.equal((await data<Newsletter>('GET', '/newsletters/1')).subject, 'Old and new')
})

consoleTest(
  'a draft that is left while a change is stored keeps the next change, too',
  async ({ page, visit, data }) => {
    await data('POST', '/newsletters', { subject: 'Old', html: link })
    await visit('/console/newsletters')
    await page.getByRole('link', { name: 'Old' }).click()
    await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
    const letStore = await holdBack(page, 'PATCH', '/api/v1/newsletters/1')
    const isAsked = page.waitForRequest((request) => request.method() === 'PATCH')
    await page.getByLabel('Subject').fill('New')
    await isAsked
    await page.getByLabel('Subject').fill('Newer')
    await page.keyboard.press('Tab')
    await page.goBack()
    letStore()
    await until(
      () => data<Newsletter>('GET', '/newsletters/1'),
      ({ subject }) => subject === 'Newer',
    )
  },
)

consoleTest('the browser asks before it leaves a draft that is not stored', async (world) => {
  const { page, visit, data, allowErrors } = world
  allowErrors()
  await data('POST', '/newsletters', { subject: 'Old', html: link })
  await visit('/console/newsletters/1')
  const end = await during(page, 'PATCH', '/api/v1/newsletters/1', refuse)
  await page.getByLabel('Subject').click()
  await page.keyboard.type('New')
  await page.getByText('The last change is not saved.').waitFor()
  const asked = page.waitForEvent('dialog')
  await page.evaluate('void setTimeout(() => location.reload())')
  const dialog = await asked
  assert.equal(dialog.type(), 'beforeunload')
  await dialog.dismiss()
  await end()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
  await page.reload()
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
})

consoleTest('a draft and its copy are stored apart', async ({ page, visit, data }) => {
  const subjectIs = (id: number, expected: string) =>
    until(
      () => data<Newsletter>('GET', `/newsletters/${id}`),
      ({ subject }) => subject === expected,
    )
  await data('POST', '/newsletters', { subject: 'Old', html: link })
  await visit('/console/newsletters/1')
  await page.getByRole('button', { name: 'Copy', exact: true }).click()
  await page.waitForURL('**/console/newsletters/2')
  await loaded(page)
  await page.getByLabel('Subject').fill('New')
  await subjectIs(2, 'New')
  await page.goBack()
  await page.waitForURL('**/console/newsletters/1')
  await until(
    () => page.getByLabel('Subject').inputValue(),
    (shown) => shown === 'Old',
  )
  await page.getByLabel('Subject').fill('New')
  await subjectIs(1, 'New')
})

consoleTest('two tabs on one draft keep what each of them changes', async ({ page, visit, data }) => {
  await data('POST', '/newsletters', { subject: 'Old', html: link })
  await visit('/console/newsletters/1')
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
  await data('PATCH', '/newsletters/1', { html: `<p>Of the other tab</p>${link}` })
  const stored = page.waitForResponse((response) => response.request().method() === 'PATCH')
  await page.getByLabel('Subject').fill('New')
  await stored
  const { subject, html } = await data<Newsletter>('GET', '/newsletters/1')
  assert.deepEqual({ subject, html }, { subject: 'New', html: `<p>Of the other tab</p>${link}` })
})

consoleTest('a draft keeps what another tab changes after its first change was seen', async ({ page, visit, data }) => {
  await data('POST', '/lists', { name: 'news' })
  await data('POST', '/newsletters', { subject: 'Old', html: link })
  await visit('/console/newsletters/1')
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
  const writeSubject = async (subject: string) => {
    const stored = page.waitForResponse((response) => response.request().method() === 'PATCH')
    await page.getByLabel('Subject').fill(subject)
    await (await stored).finished()
  }
  await data('PATCH', '/newsletters/1', { html: `<p>First</p>${link}`, audience: { lists: [1] } })
  await writeSubject('New')
  await page.getByText('Sender and audience: 1 list').waitFor()
  await data('PATCH', '/newsletters/1', { html: `<p>Second</p>${link}`, audience: {} })
  await writeSubject('Newer')
  const { subject, html, audience } = await data<Newsletter & { audience: object }>('GET', '/newsletters/1')
  assert.deepEqual({ subject, html, audience }, { subject: 'Newer', html: `<p>Second</p>${link}`, audience: {} })
})

consoleTest('who edits a contact changes nothing else of it', async ({ page, visit, data }) => {
  await data('POST', '/contacts', { email: 'ada@example.org', name: 'Ada', plan: 'free', city: 'London' })
  await visit('/console/contacts/1')
  await page.getByRole('button', { name: 'Edit' }).click()
  await data('PUT', '/contacts/1', { name: 'Ada L.', plan: 'pro' })
  await page.getByLabel('Value of attribute 2').fill('Paris')
  await page.getByRole('button', { name: 'Add attribute' }).click()
  await page.getByLabel('Value of attribute 3').fill('without a name')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  assert.equal(await page.locator('input:invalid').getAttribute('aria-label'), 'Name of attribute 3')
  await page.getByLabel('Name of attribute 3').fill('note')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('The contact is saved.').waitFor()
  const { name, extra_attributes } = await data<{ name: string; extra_attributes: object }>('GET', '/contacts/1')
  assert.deepEqual(extra_attributes, { plan: 'pro', city: 'Paris', note: 'without a name' })
  assert.equal(name, 'Ada L.')
})

consoleTest('the import to a list that is gone does not go to another one', async (world) => {
  const { page, visit, data, allowErrors } = world
  allowErrors()
  await data('POST', '/lists', { name: 'Other' })
  await visit('/console/import?list=99')
  const file = { name: 'a.csv', mimeType: 'text/csv', buffer: Buffer.from('email\nada@example.org\n') }
  await page.locator('input[type=file]').setInputFiles(file)
  await page.getByLabel('What to do').selectOption('import')
  await page.getByRole('button', { name: 'Start' }).click()
  await page.getByRole('alert').getByText('not_found').waitFor()
  assert.deepEqual(await data('GET', '/contacts'), [])
})

consoleTest('a draft that was sent elsewhere shows its state', async ({ page, visit, data, allowErrors }) => {
  allowErrors()
  await data('POST', '/contacts', { email: 'ada@example.org' })
  await data('POST', '/newsletters', { subject: 'Old', html: link })
  await visit('/console/newsletters/1')
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
  await data('POST', '/newsletters/1/send', {})
  await page.getByLabel('Subject').fill('New')
  await page.getByText('1 of 1 messages are final').waitFor()
})

consoleTest('the words of a draft that another tab deletes stay on the page', async (world) => {
  const { page, visit, data, allowErrors } = world
  allowErrors()
  await data('POST', '/newsletters', { subject: 'Old', html: link })
  await visit('/console/newsletters/1')
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
  await data('DELETE', '/newsletters/1')
  for (const words of ['New', 'Newer']) {
    const refused = page.waitForResponse((response) => response.request().method() === 'PATCH')
    await page.getByLabel('Subject').fill(words)
    await refused
    await page.getByRole('alert').getByText('not_found').waitFor()
  }
  assert.equal(await page.getByLabel('Subject').inputValue(), 'Newer')
})

consoleTest('a newsletter is copied to a draft', async ({ page, visit, data }) => {
  const { id } = await data<{ id: number }>('POST', '/newsletters', { name: 'January', subject: 'Hi', html: link })
  await data('POST', `/newsletters/${id}/send`, {})
  await visit('/console/newsletters/1')
  await page.getByRole('button', { name: 'Copy', exact: true }).click()
  await page.getByText('The copy is a new draft').waitFor()
  await page.waitForURL('**/console/newsletters/2')
  const { subject, status } = await data<Newsletter>('GET', '/newsletters/2')
  assert.deepEqual({ subject, status }, { subject: 'Hi', status: 'draft' })
})

consoleTest('an import ends with its session', async ({ page, visit, data, url }) => {
  const client = await data<{ token: string }>('POST', '/tokens', { name: 'other', role: 'admin' })
  await visit('/console/import')
  const csv = 'email\nsecret@example.org\n'
  const file = { name: 'customers.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) }
  await page.locator('input[type=file]').setInputFiles(file)
  await page.getByRole('button', { name: 'Start' }).click()
  await page.getByText('Dry run: nothing was stored').waitFor()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('API token').fill(client.token)
  await page.keyboard.press('Enter')
  await heading(page, 'Import')
  assert.equal(await page.getByText('customers.csv').count(), 0)
  assert.equal(await page.getByRole('button', { name: 'Import these rows' }).count(), 0)
  assert.equal(page.url(), `${url}/console/import`)
})

consoleTest('a question ends with its page and with its session', async ({ page, visit, data, url, allowErrors }) => {
  allowErrors()
  await data('POST', '/contacts', { email: 'ada@example.org' })
  await visit('/console/contacts')
  await page.getByRole('link', { name: 'ada@example.org' }).click()
  await page.getByRole('button', { name: 'Erase' }).click()
  await page.getByRole('dialog').getByText('Erase this contact?').waitFor()
  await page.goBack()
  await heading(page, 'Contacts')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  const { id, token } = await data<{ id: number; token: string }>('POST', '/tokens', { name: 'mine', role: 'admin' })
  await page.goto(`${url}/#token=${token}`)
  await heading(page, 'Overview')
  await page.goto(`${url}/console/contacts/1`)
  await page.getByRole('button', { name: 'Erase' }).click()
  await data('DELETE', `/tokens/${id}`)
  await page.getByRole('dialog').getByRole('button', { name: 'Erase' }).click()
  await page.getByText('The token is not valid').waitFor()
  const viewer = await data<{ token: string }>('POST', '/tokens', { name: 'v', role: 'viewer' })
  await page.getByLabel('API token').fill(viewer.token)
  await page.evaluate(collectAlerts)
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').first().waitFor({ state: 'detached' })
  await heading(page, 'ada@example.org')
  assert.equal(await page.getByRole('dialog').count(), 0)
  assert.deepEqual(await page.evaluate('alertTexts'), [])
})

/** Collects the texts of the alerts that appear from now on, however shortly. */
const collectAlerts = `(() => {
  window.alertTexts = []
  new MutationObserver((changes) => {
    const nodes = changes.flatMap(({ addedNodes }) => [...addedNodes]).filter((node) => node instanceof Element)
    const alerts = nodes.flatMap((node) => [...node.querySelectorAll('[role=alert]')])
    window.alertTexts.push(...alerts.map(({ textContent }) => textContent))
  }).observe(document, { childList: true, subtree: true })
})()`

consoleTest('what is on the page stays while the server cannot be reached', async (world, t) => {
  const { page, visit, data, allowErrors } = world
  allowErrors()
  const receiver = await openReceiver()
  t.after(() => receiver.close())
  await data('POST', '/webhook-endpoints', { url: receiver.url(), events: ['contact.created'] })
  await visit('/console/webhooks/1')
  await page.getByRole('button', { name: 'Rotate secret' }).waitFor()
  await page.getByRole('button', { name: 'Send test' }).click()
  await page.getByText('A test event is on its way.').waitFor()
  await page.getByRole('button', { name: 'Rotate secret' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click()
  const secret = await page.getByRole('dialog').locator('.secret code').textContent()
  await page.route('**/api/v1/**', (route) => route.abort())
  await page.getByRole('alert').getByText('The server cannot be reached').first().waitFor({ state: 'attached' })
  assert.equal(await page.getByRole('dialog').locator('.secret code').textContent(), secret)
  await page.unroute('**/api/v1/**')
  await page.getByRole('alert').first().waitFor({ state: 'detached' })
  await page.getByRole('dialog').getByRole('button', { name: 'I have copied it' }).click()
})

consoleTest('what is written stays when an answer breaks off', async ({ page, visit, data }) => {
  await data('POST', '/newsletters', { subject: 'Old', html: link })
  await data('POST', '/newsletters/1/send', { at: '2100-01-01T00:00:00Z' })
  await visit('/console/newsletters/1')
  await page.getByLabel('Subject').fill('New')
  const end = await during(page, 'GET', '/api/v1/newsletters/1?audience=false', (route) =>
    route.fulfill({ contentType: 'application/json', body: '{"data": {' }),
  )
  await page.getByRole('alert').waitFor()
  assert.equal(await page.getByLabel('Subject').inputValue(), 'New')
  await end()
  await page.getByRole('alert').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The newsletter is saved.').waitFor()
})

consoleTest('an error is gone after the next try succeeds', async ({ page, visit, data, allowErrors }) => {
  allowErrors()
  await data('POST', '/contacts', { email: 'ada@example.org' })
  await visit('/console/contacts/1')
  const erase = async () => {
    await page.getByRole('button', { name: 'Erase' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Erase' }).click()
  }
  const end = await during(page, 'DELETE', '/api/v1/contacts/1', refuse)
  await erase()
  await page.getByRole('alert').waitFor()
  await end()
  await erase()
  await heading(page, 'Contact erased')
  assert.equal(await page.getByRole('alert').count(), 0)
})

consoleTest('tags that are not added stay in their field', async ({ page, visit, data, allowErrors }) => {
  allowErrors()
  await data('POST', '/contacts', { email: 'ada@example.org' })
  await visit('/console/contacts/1')
  const end = await during(page, 'POST', '/api/v1/contacts/1/tags', refuse)
  const field = page.getByLabel('Tags to add')
  await field.fill('math, poetry')
  await page.keyboard.press('Enter')
  await page.getByRole('alert').waitFor()
  assert.equal(await field.inputValue(), 'math, poetry')
  await end()
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await page.getByText('The tags are added.').waitFor()
  assert.equal(await field.inputValue(), '')
})

consoleTest('a dialog stays open until what it creates is there', async ({ page, visit, data }) => {
  await visit('/console/tokens')
  await page.getByText('of this session').waitFor()
  const letCreate = await holdBack(page, 'POST', '/api/v1/tokens')
  await page.keyboard.press('n')
  await page.getByLabel('Name').fill('website')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Please wait…' }).waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('Escape')
  assert.equal(await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).isDisabled(), true)
  assert.equal(await page.getByRole('dialog').getByRole('button', { name: 'Close' }).isDisabled(), true)
  letCreate()
  await page.getByText('It is shown only now.').waitFor()
  assert.equal((await data<unknown[]>('GET', '/tokens')).length, 2)
})

consoleTest('addresses that the console never links to show a page', async ({ page, visit }) => {
  await visit('/?range=toString')
  await heading(page, 'Overview')
  await page.getByText('Subscribed contacts').waitFor()
  await visit('/console/deliveries?hours=99999999999')
  await page.getByText('No delivery').first().waitFor()
  await visit('/console/contacts/%E0%A4%A')
  await page.getByRole('link', { name: 'Contacts' }).first().waitFor()
})

consoleTest('the link of a token works in a tab that is open', async ({ page, url, token }) => {
  await page.goto(`${url}/console/contacts`)
  await page.getByLabel('API token').waitFor()
  await page.goto(`${url}/console/contacts#token=${token}`)
  await heading(page, 'Contacts')
  assert.equal(page.url(), `${url}/console/contacts`)
})

consoleTest('a token that was copied with a bracket leaves the address bar, too', async ({ page, url, token }) => {
  await page.goto(`${url}/console/contacts#token=${token})`)
  await page.getByLabel('API token').waitFor()
  assert.equal(page.url(), `${url}/console/contacts`)
  await page.goto(`${url}/console/contacts#token=${token}%20`)
  await page.waitForURL(`${url}/console/contacts`)
})

consoleTest('the link of another token shows nothing of the last one', async ({ page, visit, url, data }) => {
  await data('POST', '/contacts', { email: 'ada@example.org' })
  await visit('/console/contacts')
  await page.getByRole('link', { name: 'ada@example.org' }).waitFor()
  await data('DELETE', '/contacts/1')
  const { token } = await data<{ token: string }>('POST', '/tokens', { name: 'mine', role: 'viewer' })
  await page.goto(`${url}/console/contacts#token=${token}`)
  await page.getByRole('link', { name: 'ada@example.org' }).waitFor({ state: 'detached' })
  await heading(page, 'Contacts')
  await page.getByRole('button', { name: 'New contact' }).waitFor({ state: 'detached' })
  assert.equal(page.url(), `${url}/console/contacts`)
})

consoleTest('a role that could not be asked for is asked for again', async ({ page, visit, allowErrors }) => {
  allowErrors()
  const end = await during(page, 'GET', '/api/v1/tokens/current', refuse)
  await visit('/')
  await heading(page, 'Overview')
  await end()
  await page.getByText('Oldest due delivery').waitFor()
})

consoleTest('a page whose rows are gone leads to the first one', async ({ page, visit, data }) => {
  for (let n = 0; n < 51; n++) await data('POST', '/tags', { name: `tag ${n}` })
  await visit('/console/tags')
  await page.getByRole('link', { name: 'Next' }).click()
  await page.getByRole('button', { name: 'Delete tag 50' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('Nothing is left on this page.').waitFor()
  await page.getByRole('link', { name: 'Show the first page.' }).click()
  await page.getByText('tag 1', { exact: true }).waitFor()
})

consoleTest('a sequence shows how its contacts come along', async ({ page, visit, data }) => {
  await data('POST', '/contacts', { email: 'ada@example.org' })
  await data('POST', '/sequences', { name: 'Welcome', status: 'active' })
  await data('PUT', '/sequences/1/steps', { steps: [{ delay_seconds: 2, subject: 'Hi', html: link }] })
  await visit('/console/sequences/1')
  await page.getByText('Enrolments', { exact: true }).click()
  await page.getByText('Messages', { exact: true }).click()
  await page.getByText('No message yet.').waitFor()
  await data('POST', '/sequences/1/enrolments', { contact_id: 1 })
  await page.getByText('completed', { exact: true }).waitFor()
  await page.locator('.badge').getByText('sent', { exact: true }).waitFor()
})

consoleTest('the token of the session is marked', async ({ page, visit }) => {
  await visit('/console/tokens')
  await page.getByText('of this session').waitFor()
  await page.getByRole('button', { name: /^Revoke/ }).click()
  await page.getByRole('dialog').getByText('you will be signed out').waitFor()
})

consoleTest('what is written stays on the page when the session ends', async (world) => {
  const { page, data, url, allowErrors } = world
  allowErrors()
  await data('POST', '/newsletters', { subject: 'Old', html: link })
  await data('POST', '/newsletters/1/send', { at: '2040-01-01T00:00:00Z' }) // it is not saved while one writes
  await data('POST', '/sequences', { name: 'Welcome', status: 'paused' })
  const newToken = () => data<{ id: number; token: string }>('POST', '/tokens', { name: 'mine', role: 'admin' })
  let { id, token } = await newToken()
  const signInAgain = async () => {
    const dialog = page.getByRole('dialog', { name: 'Sign in again' })
    await dialog.getByText('The token is not valid').waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    ;({ id, token } = await newToken())
    await dialog.getByLabel('API token').fill(token)
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  }
  await page.goto(`${url}/#token=${token}`)
  await heading(page, 'Overview')
  await page.goto(`${url}/console/newsletters/1`)
  await page.getByLabel('Subject').fill('New')
  await page.getByText('The last change is not saved.').waitFor()
  await data('DELETE', `/tokens/${id}`)
  await signInAgain() // the page asks for the newsletter every two seconds
  assert.equal(await page.getByLabel('Subject').inputValue(), 'New')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The newsletter is saved.').waitFor()
  assert.equal((await data<Newsletter>('GET', '/newsletters/1')).subject, 'New')

  await page.goto(`${url}/console/sequences/1`)
  await page.getByRole('button', { name: 'New step' }).click()
  await page.getByLabel('Subject').fill('Hello')
  await data('DELETE', `/tokens/${id}`)
  await page.getByRole('button', { name: 'Save step' }).click()
  await signInAgain()
  assert.equal(await page.getByLabel('Subject').inputValue(), 'Hello')
  // Beside it, the page may show the same error of a request of its own.
  const problem = page.locator('form').getByRole('alert')
  await problem.getByText('The session had ended, so nothing was done.').waitFor()
  await page.getByRole('button', { name: 'Save step' }).click()
  await page.getByText('The steps are saved.').waitFor()
})

consoleTest('a token of another client opens none of the pages of the one before', async (world) => {
  const { page, data, url, file, allowErrors } = world
  allowErrors()
  const cwd = dirname(file)
  const { id: other } = await runJson<{ id: number }>(['client', 'create', 'Other'], { cwd })
  const others = await runJson<{ token: string }>(['token', 'create', '--client', `${other}`, '--role', 'admin'], {
    cwd,
  })
  const own = await data<{ id: number; token: string }>('POST', '/tokens', { name: 'mine', role: 'admin' })
  await page.goto(`${url}/#token=${own.token}`)
  await page.goto(`${url}/console/contacts`)
  await page.getByRole('button', { name: 'New contact' }).click()
  await page.getByRole('dialog').getByLabel('E-mail').fill('ada@example.org')
  await data('DELETE', `/tokens/${own.id}`)
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Sign in again' })
  await dialog.getByLabel('API token').fill(others.token)
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').first().waitFor({ state: 'detached' })
  await heading(page, 'Contacts')
  assert.equal(await page.getByRole('dialog').count(), 0)
})

consoleTest('the steps that another admin adds stay', async ({ page, visit, data, allowErrors }) => {
  allowErrors()
  interface Steps {
    readonly steps: readonly { readonly id: number; readonly subject: string }[]
  }
  const step = (subject: string) => ({ delay_seconds: 0, subject, html: link })
  const subjects = async () => (await data<Steps>('GET', '/sequences/1')).steps.map(({ subject }) => subject)
  await data('POST', '/sequences', { name: 'Welcome', status: 'paused' })
  const { steps } = await data<Steps>('PUT', '/sequences/1/steps', { steps: [step('First'), step('Second')] })
  await visit('/console/sequences/1')
  await page.getByRole('button', { name: 'Edit First' }).click()
  await page.getByLabel('Subject').fill('Hello')
  const stored = steps.map(({ id, subject }) => ({ ...step(subject), id }))
  await data('PUT', '/sequences/1/steps', { steps: [step('Added'), ...stored] })
  await page.getByRole('button', { name: 'Save step' }).click()
  await page.getByText('The steps are saved.').waitFor()
  assert.deepEqual(await subjects(), ['Added', 'Hello', 'Second'])
  await page.getByRole('button', { name: 'Edit Second' }).click()
  await page.getByLabel('Subject').fill('Mine')
  await data('PUT', '/sequences/1/steps', { steps: [stored[0]] })
  await page.getByRole('button', { name: 'Save step' }).click()
  await page.getByRole('alert').getByText('This step has been removed.').waitFor()
  assert.equal(await page.getByLabel('Subject').inputValue(), 'Mine')
})
