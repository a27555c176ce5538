/** What the errors of the API are on a page: words of the page instead of names of the API. */
import assert from 'node:assert/strict'
import { assertAccessible, consoleTest, during } from './world.ts'

consoleTest('errors of fields have the labels that the page shows', async ({ page, visit, data, allowErrors }) => {
  allowErrors()
  await data('POST', '/contacts', { email: 'ada@example.org', status: 'new' })
  await data('POST', '/sequences', { name: 'Welcome', status: 'paused' })
  await data('POST', '/newsletters', { subject: 'Hi', html: '<a href="{{ unsubscribe_url }}">Unsubscribe</a>' })
  const dialog = page.getByRole('dialog')
  const reasons = async () => await page.locator('form').getByRole('alert').getByRole('listitem').allTextContents()

  await visit('/console/segments')
  await page.getByText('No segment yet.').waitFor()
  await page.keyboard.press('n')
  await dialog.getByLabel('Name', { exact: true }).fill('Cologne')
  await dialog.getByLabel('Attributes').fill('home_city: Cologne')
  await dialog.getByRole('button', { name: 'Create segment' }).click()
  await dialog.getByRole('alert').waitFor()
  assert.deepEqual(await reasons(), [
    'Attributes, home_city: This is not declared. Contacts can be filtered by declared attributes only. ' +
      'An admin declares them: “Attributes” on the page of segments.',
  ])
  await assertAccessible(page, 'an error of a field')

  await visit('/console/sequences/1')
  await page.getByRole('button', { name: 'New step' }).click()
  await page.getByLabel('Subject').fill('Hello')
  await page.getByLabel('HTML').fill('<p>Hello</p>')
  await page.getByRole('button', { name: 'Save step' }).click()
  await page.locator('form').getByRole('alert').waitFor()
  assert.deepEqual(await reasons(), ['Step 1, HTML: This must contain {{ unsubscribe_url }}.'])
  await page.getByRole('button', { name: 'Cancel' }).click()

  await visit('/console/newsletters/1')
  await page.getByRole('button', { name: 'Send test' }).click()
  await dialog.getByLabel('Addresses').fill('ada@example.org, bob')
  await dialog.getByRole('button', { name: 'Send test' }).click()
  await dialog.getByRole('alert').waitFor()
  assert.deepEqual(await reasons(), ['Addresses, number 2: This must be an e-mail address.'])

  await visit('/console/contacts/1')
  await page.getByRole('button', { name: 'Edit' }).click()
  await dialog.getByRole('button', { name: 'Add attribute' }).click()
  await dialog.getByLabel('Name of attribute 2').fill('home_city')
  for (const at of [1, 2]) await dialog.getByLabel(`Value of attribute ${at}`).fill('x'.repeat(10_001))
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByRole('alert').waitFor()
  // The path of an attribute does not tell it from a field of the same name.
  const tooLong = 'This must have at most 10000 characters.'
  assert.deepEqual(await reasons(), [`Status: ${tooLong}`, `home_city: ${tooLong}`])
})

consoleTest('an attribute named like the label of a field hides no error of the field', async ({ page, visit }) => {
  const row = { email: 'ada', 'E-mail': 'x'.repeat(10_001) }
  const file = { name: 'people.ndjson', mimeType: 'application/x-ndjson', buffer: Buffer.from(JSON.stringify(row)) }
  await visit('/console/import')
  await page.locator('input[type=file]').setInputFiles(file)
  await page.getByRole('button', { name: 'Start' }).click()
  await page.getByText('Every row is refused.').waitFor()
  assert.equal(
    await page.locator('table.lines td.main').textContent(),
    'E-mail must be an e-mail address. E-mail must have at most 10000 characters.',
  )
})

consoleTest('a count or a choice that cannot be loaded says why', async ({ page, visit, data, allowErrors }) => {
  allowErrors()
  await data('POST', '/lists', { name: 'News' })
  await data('POST', '/lists/1/topics', { name: 'Weekly' })
  await data('POST', '/segments', { name: 'Adas', filters: { search: 'ada' } })
  await data('POST', '/newsletters', { name: 'January', subject: 'Hello', html: '<p>{{ unsubscribe_url }}</p>' })
  const body = JSON.stringify({ message: 'Internal error.', code: 'internal' })
  const fails = async (path: string, show: () => Promise<void>, loaded: () => Promise<void>) => {
    const end = await during(page, 'GET', path, (route) =>
      route.fulfill({ status: 500, headers: { 'X-Request-Id': 'request-7' }, body }),
    )
    await show()
    const error = page.getByRole('alert')
    await error.getByText('Code internal, request request-7').waitFor()
    await end()
    await error.getByRole('button', { name: 'Try again' }).click()
    await loaded()
    await error.waitFor({ state: 'detached' })
  }
  await fails(
    '/api/v1/contacts/count*',
    () => visit('/console/contacts'),
    () => page.getByText('0 contacts').waitFor(),
  )
  await fails(
    '/api/v1/lists/1/topics*',
    () => visit('/console/contacts?list=1'),
    () => page.getByLabel('Topic', { exact: true }).waitFor(),
  )
  const openAudience = async () => {
    await visit('/console/newsletters/1')
    await page.getByText('Sender and audience').click()
    await page.getByText('Topics, and who is left out').click()
  }
  await fails('/api/v1/segments*', openAudience, () => page.getByLabel('In the segment').waitFor())
  await fails('/api/v1/lists/1/topics*', openAudience, () => page.getByLabel('Weekly (News)').waitFor())
  await visit('/console/newsletters/1')
  await fails(
    '/api/v1/newsletters/1/audience*',
    () => page.getByLabel('Subject').fill('Hello again'),
    () => page.getByText('0 contacts').waitFor(),
  )
})
