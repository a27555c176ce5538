/** Imports one after another, and options that change after a dry run. */
import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { consoleTest, during, gate, heading, holdBack } from './world.ts'

const chooseFile = (page: Page, name: string, text: string) =>
  page.locator('input[type=file]').setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(text) })

interface Contact {
  readonly email: string
  readonly lists: readonly { readonly name: string }[]
}

for (const isChecked of [false, true]) {
  const how = isChecked ? ' after its dry run' : ''
  consoleTest(`each import to a new list${how} gets its own list`, async ({ page, visit, data }) => {
    await visit('/console/import')
    for (const name of ['First', 'Second']) {
      await chooseFile(page, `${name}.csv`, `email\n${name.toLowerCase()}@example.org\n`)
      await page.getByRole('cell', { name: `${name.toLowerCase()}@example.org` }).waitFor()
      await page.getByLabel('Put the contacts on').selectOption('new')
      await page.getByLabel('Name of the new list').fill(name)
      await page.getByLabel('What to do').selectOption(isChecked ? 'yes' : '')
      await page.getByRole('button', { name: 'Start' }).click()
      if (isChecked) await page.getByRole('button', { name: 'Import these rows' }).click()
      await page.getByRole('heading', { name: 'Imported' }).waitFor()
    }
    const contacts = await data<Contact[]>('GET', '/contacts')
    assert.deepEqual(
      contacts.map(({ email, lists }) => [email, lists.map(({ name }) => name)]),
      [
        ['first@example.org', ['First']],
        ['second@example.org', ['Second']],
      ],
    )
  })
}

consoleTest('a new list is created once if its import must be tried again', async (world) => {
  const { page, visit, data, allowErrors } = world
  allowErrors()
  await visit('/console/import')
  await chooseFile(page, 'readers.csv', 'email\nada@example.org\n')
  await page.getByRole('button', { name: 'Start' }).click()
  const importNow = page.getByRole('button', { name: 'Import these rows' })
  await importNow.waitFor()
  await page.route('**/api/v1/imports?**', (route) => route.fulfill({ status: 503, body: '{}' }))
  await importNow.click()
  await page.getByRole('alert').first().waitFor()
  await page.unroute('**/api/v1/imports?**')
  await importNow.click()
  await page.getByRole('heading', { name: 'Imported' }).waitFor()
  const lists = await data<{ name: string; contacts_count: number }[]>('GET', '/lists?counts=1')
  assert.deepEqual(
    lists.map(({ name, contacts_count }) => [name, contacts_count]),
    [['readers', 1]],
  )
})

consoleTest('rows are imported only with the options that the dry run has checked', async ({ page, visit, data }) => {
  await data('POST', '/lists', { name: 'News' })
  await visit('/console/import')
  await chooseFile(page, 'people.csv', 'email\nada@example.org\nnot an address\n')
  const start = page.getByRole('button', { name: 'Start' })
  const importNow = page.getByRole('button', { name: 'Import these rows' })
  await start.click()
  await importNow.waitFor()
  await page.getByLabel('People in the file are').selectOption('unsubscribed')
  await importNow.waitFor({ state: 'detached' })
  await start.click()
  await importNow.waitFor()
  await page.getByLabel('What to do').selectOption('import') // says the same as the button
  await importNow.click()
  await page.getByRole('heading', { name: 'Imported' }).waitFor()
  const [contact] = await data<{ unsubscribed_at: string | null }[]>('GET', '/contacts?include_unsubscribed=true')
  assert.notEqual(contact?.unsubscribed_at, null)
})

consoleTest('the options of a dry run are there again when its page is opened again', async ({ page, visit, data }) => {
  for (const name of ['News', 'Jobs']) await data('POST', '/lists', { name })
  await visit('/console/import')
  await chooseFile(page, 'people.csv', 'mail of the person,plan\nada@example.org,pro\n')
  const importNow = page.getByRole('button', { name: 'Import these rows' })
  const given = (label: string) => page.getByLabel(label).inputValue()
  const leave = async () => {
    await page.getByRole('link', { name: 'Lists & topics' }).click()
    await heading(page, 'Lists and topics')
  }
  await page.getByLabel('Put the contacts on').selectOption('a new list')
  await page.getByLabel('Name of the new list').fill('Friends')
  await page.getByLabel('Contacts that exist already').selectOption('skip')
  await page.getByText('Columns with other names').click()
  await page.getByLabel('Column of: E-mail').selectOption('mail of the person')
  await page.getByRole('button', { name: 'Start' }).click()
  await importNow.waitFor()
  await leave()
  await page.getByRole('link', { name: 'Import', exact: true }).click()
  await importNow.waitFor()
  assert.equal(await given('Name of the new list'), 'Friends')
  assert.equal(await given('Contacts that exist already'), 'skip')
  assert.equal(await given('Column of: E-mail'), 'mail of the person')

  await leave()
  await page.getByRole('link', { name: 'Jobs', exact: true }).click()
  await page.locator('main').getByRole('link', { name: 'Import' }).click() // to another list than the one that was checked
  await heading(page, 'Import')
  assert.equal(await given('Put the contacts on'), '2')
  assert.equal(await importNow.count(), 0)
})

consoleTest('a dry run that ends on the import page of another list shows its own', async ({ page, visit, data }) => {
  for (const name of ['News', 'Jobs']) await data('POST', '/lists', { name })
  await visit('/console/import')
  await chooseFile(page, 'people.csv', 'email\nada@example.org\n')
  const letCheck = await holdBack(page, 'POST', '/api/v1/lists/1/contacts/import*')
  await page.getByRole('button', { name: 'Start' }).click()
  await page.getByRole('progressbar').waitFor()
  await page.getByRole('link', { name: 'Lists & topics' }).click()
  await page.getByRole('link', { name: 'Jobs', exact: true }).click()
  await page.locator('main').getByRole('link', { name: 'Import' }).click()
  await heading(page, 'Import')
  letCheck()
  await page.getByRole('button', { name: 'Import these rows' }).waitFor()
  assert.equal(await page.getByLabel('Put the contacts on').inputValue(), '1')
})

consoleTest('a list that an import creates after its page was left is chosen', async ({ page, visit, data }) => {
  await data('POST', '/lists', { name: 'News' })
  await visit('/console/import')
  await chooseFile(page, 'Friends.csv', 'email\nada@example.org\n')
  const list = page.getByLabel('Put the contacts on')
  await list.selectOption('a new list')
  await page.getByRole('button', { name: 'Start' }).click()
  const importNow = page.getByRole('button', { name: 'Import these rows' })
  await importNow.waitFor()
  await page.getByRole('link', { name: 'Tags' }).click()
  await heading(page, 'Tags')
  await page.getByRole('link', { name: 'Import', exact: true }).click()
  await importNow.click()
  await page.getByRole('heading', { name: 'Imported' }).waitFor()
  await list.locator('option:checked', { hasText: 'Friends' }).waitFor({ state: 'attached' })
})

consoleTest('the refused rows of a file with old line ends are downloaded', async ({ page, visit, data }) => {
  await data('POST', '/lists', { name: 'News' })
  await visit('/console/import')
  await chooseFile(page, 'people.csv', 'name,email\rBob,bob@example.org\r"Anna\rMaria",broken\rEve,eve@\r')
  await page.getByRole('button', { name: 'Start' }).click()
  const downloading = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download refused rows' }).click()
  const text = (await (await (await downloading).createReadStream()).toArray()).join('')
  assert.match(text, /""Anna\s+Maria"",broken/)
  assert.match(text, /"Eve,eve@"/)
})

consoleTest('an import whose token is revoked shows its report after the user has signed in again', async (world) => {
  const { page, data, url, allowErrors } = world
  allowErrors()
  await data('POST', '/lists', { name: 'News' })
  const newToken = () => data<{ id: number; token: string }>('POST', '/tokens', { name: 'mine', role: 'admin' })
  const first = await newToken()
  await page.goto(`${url}/#token=${first.token}`)
  await heading(page, 'Overview')
  await page.goto(`${url}/console/import`)
  await chooseFile(page, 'people.csv', 'email\nada@example.org\n')
  const { promise, resolve: answer } = gate()
  const report = { total: 1, created: 1, updated: 0, skipped: 0, refused: 0, refused_rows: [] }
  await during(page, 'POST', '/contacts/import**', async (route) => {
    await promise
    await route.fulfill({ json: { data: report } })
  })
  await page.getByLabel('What to do').selectOption('import')
  await page.getByRole('button', { name: 'Start' }).click()
  await page.getByText('Importing: 0 of about').waitFor()
  await data('DELETE', `/tokens/${first.id}`)
  const dialog = page.getByRole('dialog', { name: 'Sign in again' })
  await dialog.getByLabel('API token').fill((await newToken()).token)
  await page.keyboard.press('Enter')
  await dialog.waitFor({ state: 'detached' })
  answer()
  await page.getByRole('heading', { name: 'Imported' }).waitFor()
})

consoleTest('a drop beside the field, or without a file, changes nothing', async ({ page, visit }) => {
  await visit('/console/import')
  await chooseFile(page, 'people.csv', 'email\nada@example.org\n')
  await page.getByRole('cell', { name: 'ada@example.org' }).waitFor()
  await page.getByRole('button', { name: 'Start' }).waitFor()
  const isRefused = (selector: string, file: boolean) =>
    page.evaluate(`(() => {
      const dataTransfer = new DataTransfer()
      if (${file}) dataTransfer.items.add(new File(['email'], 'other.csv'))
      else dataTransfer.setData('text/plain', 'ada')
      const event = new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true })
      document.querySelector('${selector}').dispatchEvent(event)
      return event.defaultPrevented
    })()`)
  assert.equal(await isRefused('h1', true), true, 'the browser would open the file')
  assert.equal(await isRefused('.drop', false), true)
  await page.getByText('people.csv', { exact: true }).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Start' }).isVisible(), true)
})

consoleTest(
  'the browser asks before it leaves an import that runs, and not after it',
  async ({ page, visit, data }) => {
    await data('POST', '/lists', { name: 'News' })
    await visit('/console/import')
    await chooseFile(page, 'people.csv', 'email\nada@example.org\n')
    const answer = await holdBack(page, 'POST', '/contacts/import**')
    await page.getByRole('button', { name: 'Start' }).click()
    await page.getByText('Checking: 0 of about').waitFor()
    const asked = page.waitForEvent('dialog')
    await page.evaluate('void setTimeout(() => location.reload())')
    const question = await asked
    assert.equal(question.type(), 'beforeunload')
    await question.dismiss()
    answer()
    await page.getByText('Dry run: nothing was stored').waitFor()
    await page.reload() // a question would be refused here
    await heading(page, 'Import')
  },
)
