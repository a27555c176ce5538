/** What hurried people do: double clicks, held keys, and a second press while the first one is under way. */
import assert from 'node:assert/strict'
import { consoleTest, during, gate, heading, holdBack } from './world.ts'

interface Entry {
  readonly type: string
}

consoleTest('a double click and a held key do once what a button does', async ({ page, visit, data }) => {
  await data('POST', '/contacts', { email: 'ada@example.org', name: 'Ada' })
  await visit('/console/contacts/1')
  await page.getByRole('button', { name: 'Unsubscribe' }).dblclick()
  await page.getByRole('button', { name: 'Resubscribe' }).waitFor()
  await page.getByRole('button', { name: 'Resubscribe' }).focus()
  await page.keyboard.down('Enter')
  for (let n = 0; n < 5; n++) await page.keyboard.down('Enter') // repeats
  await page.keyboard.up('Enter')
  await page.getByRole('button', { name: 'Unsubscribe' }).waitFor()
  const history = await data<Entry[]>('GET', '/contacts/1/history')
  assert.deepEqual(
    history.map(({ type }) => type).filter((type) => type.endsWith('subscribed')),
    ['resubscribed', 'unsubscribed'],
  )
})

consoleTest('a button is busy until its action is done', async ({ page, visit, data }) => {
  await data('POST', '/newsletters', { name: 'January', subject: 'Hello', html: '<p>{{ unsubscribe_url }}</p>' })
  await visit('/console/newsletters/1')
  await heading(page, 'January')
  const letCreate = await holdBack(page, 'POST', '/api/v1/newsletters')
  const copy = page.getByRole('button', { name: 'Copy' })
  await copy.click()
  await page.locator('button[aria-busy="true"]').waitFor()
  await copy.click()
  await copy.click()
  letCreate()
  await page.waitForURL('**/newsletters/2')
  await page.getByText('The copy is a new draft').waitFor()
  assert.equal((await data<Entry[]>('GET', '/newsletters')).length, 2)
})

consoleTest('a form takes no words while it is saved, and its fields have the focus again', async (world) => {
  const { page, visit, data, allowErrors } = world
  allowErrors()
  await data('POST', '/contacts', { email: 'ada@example.org', name: 'Ada' })
  await visit('/console/contacts/1')
  await page.getByRole('button', { name: 'Edit' }).click()
  const { promise, resolve: letAnswer } = gate()
  const end = await during(page, 'PUT', '/api/v1/contacts/1', async (route) => {
    await promise
    await route.fulfill({ status: 503, body: '{}' })
  })
  const dialog = page.getByRole('dialog')
  const name = dialog.getByLabel('Name', { exact: true })
  const save = dialog.getByRole('button', { name: 'Save' })
  await name.fill('Ada L.')
  await page.keyboard.press('Enter')
  await dialog.getByRole('button', { name: 'Please wait…' }).waitFor()
  await page.keyboard.type(' and more')
  await name.focus()
  await page.keyboard.type(' and more')
  for (let n = 0; n < 3; n++) await page.keyboard.press('Escape')
  letAnswer()
  await dialog.getByRole('alert').waitFor()
  assert.equal(await name.inputValue(), 'Ada L.')
  await dialog.locator('input[name=name]:focus').waitFor()
  await page.keyboard.type('ovelace')
  await end()
  await save.click()
  await dialog.waitFor({ state: 'detached' })
  assert.equal((await data<{ name: string }>('GET', '/contacts/1')).name, 'Ada L.ovelace')
})

consoleTest('a dialog whose button was clicked stays open until its action is done', async ({ page, visit, data }) => {
  await data('POST', '/contacts', { email: 'ada@example.org', name: 'Ada' })
  await visit('/console/contacts/1')
  await page.getByRole('button', { name: 'Edit' }).click()
  const letSave = await holdBack(page, 'PUT', '/api/v1/contacts/1')
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByRole('button', { name: 'Please wait…' }).waitFor()
  for (let n = 0; n < 3; n++) await page.keyboard.press('Escape')
  assert.equal(await dialog.count(), 1)
  letSave()
  await dialog.waitFor({ state: 'detached' })
})

consoleTest('the copy of a draft has its last words', async ({ page, visit, data }) => {
  await data('POST', '/newsletters', { name: 'January', subject: 'Hello', html: '<p>{{ unsubscribe_url }}</p>' })
  await visit('/console/newsletters/1')
  await page.getByLabel('Subject').fill('Hello again')
  await page.getByRole('button', { name: 'Copy' }).click()
  await page.waitForURL('**/newsletters/2')
  assert.equal((await data<{ subject: string }>('GET', '/newsletters/2')).subject, 'Hello again')
})

consoleTest('the question before sending counts the audience that was just chosen', async ({ page, visit, data }) => {
  await data('POST', '/email-identities', { email: 'news@example.com', name: 'News' })
  await data('POST', '/lists', { name: 'News' })
  await data('POST', '/lists/1/contacts', { email: 'ada@example.org' })
  await data('POST', '/contacts', { email: 'bob@example.org' })
  await data('POST', '/newsletters', {
    ...{ name: 'January', subject: 'Hello', html: '<p>{{ unsubscribe_url }}</p>', audience: { lists: [1] } },
  })
  await visit('/console/newsletters/1')
  await page.getByText('1 contact', { exact: true }).waitFor()
  const letStore = await holdBack(page, 'PATCH', '/api/v1/newsletters/1')
  await page.getByText('Sender and audience').click()
  await page.getByLabel('News', { exact: true }).uncheck()
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.locator('button[aria-busy="true"]').waitFor()
  letStore()
  await page.getByRole('dialog').getByText('2 contacts will get it.').waitFor()
  await page.keyboard.press('Escape')
  assert.equal((await data<{ status: string }>('GET', '/newsletters/1')).status, 'draft')
})

consoleTest('a newsletter that starts while someone types can be paused', async ({ page, visit, data }) => {
  await data('POST', '/email-identities', { email: 'news@example.com', name: 'News' })
  await data('POST', '/contacts', { email: 'ada@example.org' })
  await data('POST', '/newsletters', { name: 'January', subject: 'Hello', html: '<p>{{ unsubscribe_url }}</p>' })
  await data('POST', '/newsletters/1/send', { at: new Date(Date.now() + 3_600_000).toISOString() })
  await visit('/console/newsletters/1')
  await page.getByLabel('Name', { exact: true }).fill('February')
  await page.getByText('The last change is not saved.').waitFor()
  await data('POST', '/newsletters/1/send', {})
  await page.getByText('This newsletter can no longer be changed.').waitFor()
  await page.getByText('1 of 1 messages are final').waitFor()
  assert.equal(await page.getByText('The last change is not saved.', { exact: true }).count(), 0)
})

consoleTest('addresses with letters beyond ASCII stay as they were typed', async ({ page, visit, data }) => {
  await data('POST', '/contacts', { email: 'jürgen@bücher.example', name: 'Jürgen' })
  await visit('/console/suppressions')
  await page.getByRole('button', { name: 'Suppress an address' }).click()
  await page.getByLabel('E-mail').fill('jürgen@bücher.example')
  await page.getByRole('button', { name: 'Suppress', exact: true }).click()
  await page.getByRole('cell', { name: 'jürgen@bücher.example', exact: true }).waitFor()
  await visit('/console/contacts/1')
  await page.getByRole('button', { name: 'Edit' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Jürgen B.')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await heading(page, 'Jürgen B.')
  assert.equal((await data<{ email: string }>('GET', '/contacts/1')).email, 'jürgen@bücher.example')
})

consoleTest('senders and addresses for replies may have letters beyond ASCII', async ({ page, visit, data }) => {
  interface Mailing {
    readonly name: string
    readonly reply_to: string
  }
  const [first, second] = ['jürgen@example.org', 'info@bücher.example']
  await data('POST', '/newsletters', { name: 'January', subject: 'Hi', html: '{{ unsubscribe_url }}', reply_to: first })
  await data('POST', '/sequences', { name: 'Welcome', reply_to: second })
  await visit('/console/newsletters/1')
  const field = page.getByLabel('Name', { exact: true })
  await field.fill('February')
  await heading(page, 'February')
  await page.getByLabel('Reply to').fill(second)
  await field.fill('March')
  await heading(page, 'March')
  assert.equal((await data<Mailing>('GET', '/newsletters/1')).reply_to, second)

  await visit('/console/sequences/1')
  await page.getByRole('button', { name: 'Edit', exact: true }).click()
  await field.fill('Good morning')
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await heading(page, 'Good morning')
  assert.equal((await data<Mailing>('GET', '/sequences/1')).reply_to, second)

  await visit('/console/identities')
  await page.getByRole('button', { name: 'New identity' }).click()
  await page.getByLabel('E-mail').fill(second)
  await page.getByRole('button', { name: 'Create identity' }).click()
  await page.getByRole('cell', { name: second, exact: true }).waitFor()
})

consoleTest('attributes with the name of a field, or twice, are refused', async ({ page, visit, data }) => {
  await data('POST', '/contacts', { email: 'ada@example.org', name: 'Ada', city: 'London' })
  await visit('/console/contacts/1')
  await page.getByRole('button', { name: 'Edit' }).click()
  await page.getByRole('button', { name: 'Add attribute' }).click()
  await page.getByLabel('Name of attribute 2').fill('name')
  await page.getByLabel('Value of attribute 2').fill('Eve')
  const save = page.getByRole('button', { name: 'Save', exact: true })
  await save.click()
  await page.getByText('"name" is a field of the contact').waitFor()
  await page.getByLabel('Name of attribute 2').fill('city')
  await save.click()
  await page.getByText('There are two attributes "city".').waitFor()
  const { name, extra_attributes } = await data<{ name: string; extra_attributes: object }>('GET', '/contacts/1')
  assert.deepEqual([name, extra_attributes], ['Ada', { city: 'London' }])
})

consoleTest('the box of a topic shows what is stored', async ({ page, visit, data, allowErrors }) => {
  allowErrors()
  await data('POST', '/lists', { name: 'News' })
  await data('POST', '/lists/1/topics', { name: 'Music' })
  await data('POST', '/lists/1/contacts', { email: 'ada@example.org' })
  await visit('/console/contacts/1')
  await page.getByRole('button', { name: 'All topics of News' }).click()
  await page.route('**/topics/1', (route) => route.abort())
  await page.getByLabel('Music').click()
  await page.getByRole('status').getByRole('alert').first().waitFor()
  assert.equal(await page.getByLabel('Music').isChecked(), false)
})

consoleTest('an address is found with spaces around it', async ({ page, visit, data }) => {
  await data('POST', '/contacts', { email: 'ada@example.org' })
  await data('POST', '/contacts', { email: 'bob@example.org' })
  await visit('/console/contacts')
  await page.getByLabel('Search by name or e-mail').fill(' bob@example.org ')
  await page.getByRole('link', { name: 'ada@example.org' }).waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'bob@example.org' }).waitFor()
})

consoleTest('the download of refused rows has rows of several lines as a whole', async ({ page, visit, data }) => {
  await data('POST', '/lists', { name: 'News' })
  await visit('/console/import')
  const csv = 'name,email\r\n"Anna\r\nMaria",broken\r\nBob,bob@example.org\r\n'
  await page
    .locator('input[type=file]')
    .setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) })
  await page.getByRole('button', { name: 'Start' }).click()
  const downloading = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download refused rows' }).click()
  const stream = await (await downloading).createReadStream()
  const text = (await stream.toArray()).join('')
  assert.match(text, /""Anna\r?\nMaria"",broken/)
})

consoleTest('the tag that is typed while another one is added stays', async ({ page, visit, data }) => {
  await data('POST', '/contacts', { email: 'ada@example.org' })
  await visit('/console/contacts/1')
  const letAdd = await holdBack(page, 'POST', '/api/v1/contacts/1/tags')
  const field = page.getByLabel('Tags to add')
  await field.fill('vip')
  await field.press('Enter')
  await field.fill('press')
  letAdd()
  await page.getByRole('button', { name: 'Remove tag vip' }).waitFor()
  assert.equal(await field.inputValue(), 'press')
})

consoleTest('the address that is typed while another contact is enrolled stays', async ({ page, visit, data }) => {
  await data('POST', '/contacts', { email: 'ada@example.org' })
  await data('POST', '/sequences', { name: 'Welcome', status: 'paused', steps: [] })
  await visit('/console/sequences/1')
  await page.getByText('Enrolments').click()
  const letEnrol = await holdBack(page, 'POST', '/api/v1/sequences/1/enrolments')
  const field = page.getByLabel('E-mail of a contact to enrol')
  await field.fill('ada@example.org')
  await field.press('Enter')
  await field.fill('bob@example.org')
  letEnrol()
  await page.getByRole('link', { name: 'ada@example.org' }).waitFor()
  assert.equal(await field.inputValue(), 'bob@example.org')
})

consoleTest('a secret stays until it is copied, however fast Escape is pressed', async ({ page, visit, data }) => {
  await data('POST', '/webhook-endpoints', { url: 'http://127.0.0.1:9/hook', events: ['contact.created'] })
  await visit('/console/webhooks/1')
  await page.getByRole('button', { name: 'Rotate secret' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Rotate' }).click()
  await page.getByText('The new secret.').waitFor()
  await Promise.all(Array.from({ length: 8 }, () => page.keyboard.press('Escape')))
  await page.evaluate('document.activeElement.blur()')
  await Promise.all(Array.from({ length: 8 }, () => page.keyboard.press('Escape')))
  await page.getByText('The new secret.').waitFor()
  assert.equal(await dialog.evaluate('document.querySelector("dialog").matches(":modal")'), true)
  await page.getByRole('button', { name: 'I have copied it' }).click()
  await dialog.waitFor({ state: 'detached' })
})

consoleTest('a key that is pressed as soon as a page has loaded is not lost', async ({ page, visit, url }) => {
  await visit('/')
  for (let n = 0; n < 10; n++) {
    await page.goto(`${url}/console/tags`)
    await page.keyboard.press('n')
    await page.getByRole('dialog', { name: 'New tag' }).waitFor()
  }
})
