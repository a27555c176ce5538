import assert from 'node:assert/strict'
import { until } from '../support/harness.ts'
import { consoleTest, during, heading, type World } from './world.ts'

consoleTest('lists, topics and tags are created, renamed and deleted', async ({ page, visit, data }) => {
  await visit('/console/lists')
  await page.getByText('No list yet.').waitFor()
  await page.keyboard.press('n')
  await page.getByLabel('Name', { exact: true }).fill('News')
  await page.getByRole('button', { name: 'Create list' }).click()
  await page.getByRole('link', { name: 'News', exact: true }).waitFor()
  await data('POST', '/lists/1/contacts', { email: 'ada@example.org', tags: ['vip'] })
  await page.getByRole('button', { name: 'Rename News' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Letters')
  await page.getByRole('dialog').getByRole('button', { name: 'Rename' }).click()
  await page.getByRole('link', { name: '1 contact of Letters' }).waitFor()

  await page.getByRole('link', { name: 'Letters', exact: true }).click()
  await page.getByText('No topic yet.').waitFor()
  await heading(page, 'Letters')
  await page.keyboard.press('n')
  await page.getByLabel('Name', { exact: true }).fill('Weekly')
  await page.getByLabel('Description').fill('Every Monday')
  await page.getByRole('button', { name: 'Create topic' }).click()
  await page.getByText('Every Monday').waitFor()
  await data('PUT', '/contacts/1/topics/1')
  await page.reload()
  await page.getByRole('cell', { name: '1', exact: true }).waitFor()
  await page.getByRole('button', { name: 'Delete Weekly' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No topic yet.').waitFor()

  await page.getByRole('link', { name: 'Tags' }).click()
  await page.getByRole('button', { name: 'Rename vip' }).click()
  await page.getByLabel('Name', { exact: true }).fill('press')
  await page.getByRole('dialog').getByRole('button', { name: 'Rename' }).click()
  await page.getByRole('button', { name: 'Delete press' }).click()
  await page.getByText('removed from every contact').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No tag yet.').waitFor()

  await visit('/console/lists')
  await page.getByRole('button', { name: 'Delete Letters' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No list yet.').waitFor()
  assert.deepEqual(await data('GET', '/lists'), [])
})

consoleTest('a file is checked, imported, and its refused rows are downloaded', async ({ page, visit, data }) => {
  await data('POST', '/lists', { name: 'News' })
  await visit('/console/import')
  const text = 'Email;Name\r\nada@example.org;"Ada; L."\r\nnot an address;Bob\r\n'
  await page
    .getByLabel(/Drop a CSV/)
    .setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer: Buffer.from(text) })
  await page.getByRole('cell', { name: 'Ada; L.' }).waitFor()
  await page.getByRole('button', { name: 'Start' }).click()
  await page.getByText('Dry run: nothing was stored').waitFor()
  assert.deepEqual(await data('GET', '/contacts/count'), { count: 0 })
  await page.getByLabel('What to do').selectOption('import')
  await page.getByRole('button', { name: 'Start' }).click()
  await page.getByRole('heading', { name: 'Imported' }).waitFor()
  assert.deepEqual(await data('GET', '/contacts/count'), { count: 1 })
  await page.getByRole('cell', { name: 'E-mail must be an e-mail address.' }).waitFor()
  const downloading = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download refused rows' }).click()
  const chunks = await (await (await downloading).createReadStream()).toArray()
  assert.match(
    Buffer.concat(chunks).toString(),
    /^"line","reason","row"\r\n"3","E-mail must be .*","not an address;Bob"\r\n$/,
  )
})

consoleTest('a file is imported on a new list, which the dry run does not create', async ({ page, visit, data }) => {
  await visit('/console/import')
  const buffer = Buffer.from('email\nada@example.org\n')
  await page.getByLabel(/Drop a CSV/).setInputFiles({ name: 'readers.csv', mimeType: 'text/csv', buffer })
  assert.equal(await page.getByLabel('Name of the new list').inputValue(), 'readers')
  await page.getByLabel('Name of the new list').fill('Readers')
  await page.getByLabel('Contacts that exist already').selectOption('stay as they are')
  await page.getByRole('button', { name: 'Start' }).click()
  await page.getByText('Dry run: nothing was stored').waitFor()
  assert.deepEqual(await data('GET', '/lists'), [])
  assert.equal(await page.getByLabel('Contacts that exist already').inputValue(), 'skip')
  await page.getByLabel('What to do').selectOption('import')
  await page.getByRole('button', { name: 'Start' }).click()
  await page.getByRole('heading', { name: 'Imported' }).waitFor()
  await page.getByRole('button', { name: 'Start' }).click()
  await page.getByText('Skipped').waitFor()
  const lists = await data<{ name: string; contacts_count: number }[]>('GET', '/lists?counts=1')
  assert.deepEqual(
    lists.map(({ name, contacts_count }) => [name, contacts_count]),
    [['Readers', 1]],
  )
})

consoleTest('columns with unusual names are chosen', async ({ page, visit, data, allowErrors }) => {
  allowErrors()
  await visit('/console/import')
  const buffer = Buffer.from('sep=;\nAdresse;Vorname;Nachname\nada@example.org;Ada;Lovelace\n')
  await page.getByLabel(/Drop a CSV/).setInputFiles({ name: 'kunden.csv', mimeType: 'text/csv', buffer })
  await page.getByLabel('What to do').selectOption('import')
  await page.getByRole('button', { name: 'Start' }).click()
  await page.getByRole('alert').getByText('Choose it in “Columns with other names” above.').waitFor()
  assert.match(await page.getByRole('alert').innerText(), /^No column for the email address\. Found: "Adresse"/)
  assert.doesNotMatch(await page.getByRole('alert').innerText(), /map|command line/)
  await page.getByText('Columns with other names', { exact: true }).click()
  await page.getByLabel('Column of: E-mail').selectOption('Adresse')
  await page.getByLabel('Column of: First name').selectOption('Vorname')
  await page.getByLabel('Column of: Last name').selectOption('Nachname')
  await page.getByRole('button', { name: 'Start' }).click()
  await page.getByRole('heading', { name: 'Imported' }).waitFor()
  const [contact] = await data<{ name: string; email: string; extra_attributes: object }[]>('GET', '/contacts')
  const { name, email, extra_attributes } = contact!
  assert.deepEqual(
    { name, email, extra_attributes },
    { name: 'Ada Lovelace', email: 'ada@example.org', extra_attributes: {} },
  )
})

consoleTest('a file of JSON with the name of a CSV says how to rename it', async ({ page, visit, allowErrors }) => {
  allowErrors()
  await visit('/console/import')
  const buffer = Buffer.from('{"email":"ada@example.org","name":"A"da"}\n')
  await page.getByLabel(/Drop a CSV/).setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer })
  await page.getByRole('button', { name: 'Start' }).click()
  await page.getByRole('alert').getByText('Give it a name that ends in .ndjson.').waitFor()
  assert.doesNotMatch(await page.getByRole('alert').innerText(), /format=|command line/)
})

consoleTest('rows are offered for import only if the dry run accepts one', async ({ page, visit }) => {
  await visit('/console/import')
  const check = async (text: string) => {
    const buffer = Buffer.from(text)
    await page.locator('input[type=file]').setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer })
    await page.getByRole('button', { name: 'Start' }).click()
    await page.getByText('Dry run: nothing was stored').waitFor()
    return await page.getByRole('button', { name: 'Import these rows' }).count()
  }
  assert.equal(await check('email,name\n'), 0)
  await page.getByText('The file has no rows.').waitFor()
  assert.equal(await check('email,name\nnot an address,Ada\n'), 0)
  await page.getByText('Every row is refused.').waitFor()
  assert.equal(await check('email,name\nnot an address,Ada\nbob@example.org,Bob\n'), 1)
})

/** Opens an import that runs until `end` is called. */
function slowImport({ url, token }: World) {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const writer = writable.getWriter()
  const init = {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/x-ndjson' },
    body: readable,
    duplex: 'half',
  } as const
  const rows = (count: number) => Array.from({ length: count }, (_, n) => `{"email":"p${n}@example.org"}\n`).join('')
  return {
    answer: fetch(`${url}/api/v1/contacts/import?dry_run=true`, init),
    send: (count: number) => writer.write(Buffer.from(rows(count))),
    end: () => writer.close(),
  }
}

consoleTest('of two imports at once, each tab shows the progress of its own', async (world) => {
  const { page, visit, data } = world
  await visit('/console/import')
  const buffer = Buffer.from('email\nada@example.org\n')
  await page.getByLabel(/Drop a CSV/).setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer })
  let own: ReturnType<typeof slowImport> | undefined
  await during(page, 'POST', '/contacts/import**', async (route) => {
    own = slowImport(world)
    await own.send(10)
    const answer = await own.answer
    await route.fulfill({ status: answer.status, contentType: 'application/json', body: await answer.text() })
  })
  await page.getByRole('button', { name: 'Start' }).click()
  await page.getByText('Checking: 10 of about').waitFor()
  const others = slowImport(world)
  await others.send(40)
  await until(
    () => data<readonly { readonly rows: number }[]>('GET', '/imports'),
    ([newest]) => newest?.rows === 40,
  )
  await own!.send(5)
  await page.getByText('Checking: 15 of about').waitFor()
  for (const one of [own!, others]) await one.end()
  await page.getByText('Dry run: nothing was stored').waitFor()
  assert.equal((await others.answer).status, 200)
})

consoleTest('a token is created, shown once and revoked', async ({ page, visit, data }) => {
  await visit('/console/tokens')
  await heading(page, 'Tokens')
  await page.keyboard.press('n')
  await page.getByLabel('Name', { exact: true }).fill('website')
  await page.getByLabel('Role').selectOption('viewer')
  await page.getByRole('button', { name: 'Create token' }).click()
  const token = await page.getByRole('dialog').locator('code').textContent()
  assert.match(token ?? '', /^mk_/)
  await page.locator('dialog h2:focus').waitFor()
  for (let times = 0; times < 3; times++) await page.keyboard.press('Escape') // it is shown only now
  assert.equal(await page.getByRole('dialog').getByRole('button', { name: 'Close' }).count(), 0)
  assert.equal(await page.getByRole('dialog').locator('code').textContent(), token)
  await page.getByRole('button', { name: 'I have copied it' }).click()
  await page.getByRole('button', { name: 'Revoke website' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await page.getByText('The token is revoked.').waitFor()
  assert.equal((await data<unknown[]>('GET', '/tokens')).length, 1)
  await page.getByRole('link', { name: 'Audit log' }).click()
  await page.getByRole('link', { name: 'token.revoked' }).click()
  assert.match(page.url(), /type=token\.revoked/)
})
