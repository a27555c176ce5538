import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { until } from '../support/harness.ts'
import { consoleTest, heading } from './world.ts'

consoleTest('a contact is created, changed and erased', async ({ page, visit, data }) => {
  await data('POST', '/lists', { name: 'News' })
  await data('POST', '/lists/1/topics', { name: 'Weekly' })
  await visit('/console/contacts')
  await page.getByText('No contact is subscribed yet.').waitFor()

  await page.keyboard.press('n')
  await page.getByRole('textbox', { name: 'E-mail' }).fill('ada@example.org')
  await page.getByLabel('Name', { exact: true }).fill('Ada')
  await page.getByLabel('Tags').fill('vip, press')
  await page.getByRole('button', { name: 'Create contact' }).click()
  await heading(page, 'Ada')
  assert.match(page.url(), /\/console\/contacts\/1$/)

  await page.getByRole('button', { name: 'Remove tag press' }).click()
  await page.getByText('The tag is removed.').waitFor()
  await page.getByRole('button', { name: 'Put on a list' }).click()
  await page.getByRole('button', { name: 'Put on list' }).click()
  await page.getByText('The contact is on the list.').waitFor()
  await page.getByRole('button', { name: 'All topics of News' }).click()
  await page.getByLabel('Weekly').click()
  await page.getByText('Topic joined.').waitFor()

  await page.getByRole('button', { name: 'Edit' }).click()
  await page.getByRole('textbox', { name: 'E-mail' }).fill('ada@example.com')
  await page.getByRole('button', { name: 'Add attribute' }).click()
  await page.getByLabel('Name of attribute 1').fill('plan')
  await page.getByLabel('Value of attribute 1').fill('pro')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('The contact is saved.').waitFor()
  await page.getByRole('definition').filter({ hasText: 'ada@example.com' }).waitFor()

  await page.getByRole('button', { name: 'Unsubscribe' }).click()
  await page.getByRole('button', { name: 'Resubscribe' }).waitFor()
  const { topics, ...contact } = await data<{ topics: { name: string }[] } & Record<string, unknown>>(
    'GET',
    '/contacts/1',
  )
  assert.deepEqual(
    topics.map(({ name }) => name),
    ['Weekly'],
  )
  assert.deepEqual(contact.extra_attributes, { plan: 'pro' })
  assert.notEqual(contact.unsubscribed_at, null)
  await page.getByRole('button', { name: 'Resubscribe' }).click()
  await page.getByRole('button', { name: 'Unsubscribe' }).waitFor()

  await page.getByRole('button', { name: 'Erase' }).click()
  await page.getByRole('button', { name: 'Cancel' }).click()
  assert.equal((await data<{ id: number }>('GET', '/contacts/1')).id, 1)
  await page.getByRole('button', { name: 'Erase' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Erase' }).click()
  await heading(page, 'Contact erased')
  assert.deepEqual(await data('GET', '/contacts/count'), { count: 0 })
})

consoleTest('contacts are searched, filtered, paged and exported', async ({ page, visit, data, importCsv }) => {
  await data('POST', '/lists', { name: 'News' })
  await data('POST', '/lists', { name: 'Other' })
  const rows = Array.from(
    { length: 10_000 },
    (_, n) => `person${n}@example.org,Person ${n},${n % 2 === 0 ? 'even' : 'odd'}`,
  )
  await importCsv(1, ['email,name,tags', ...rows].join('\n'))
  await importCsv(2, 'email,name\neve@example.org,Eve')
  await data('POST', '/contacts/1/unsubscribe')
  await visit('/console/contacts')
  await page.getByText('10,000 contacts').waitFor()

  await page.getByRole('link', { name: 'Next →' }).click()
  await page.getByRole('link', { name: 'person51@example.org', exact: true }).waitFor()
  assert.match(page.url(), /cursor=/)
  await page.reload()
  await page.getByRole('link', { name: 'person51@example.org', exact: true }).waitFor()
  await page.goBack()
  await page.getByRole('link', { name: 'person1@example.org', exact: true }).waitFor()

  await page.keyboard.press('/')
  await page.keyboard.type('person777')
  await page.getByText('11 contacts').waitFor()
  await page.getByRole('button', { name: 'More filters' }).click()
  await page.getByLabel('Tag', { exact: true }).selectOption('even')
  await page.getByText('5 contacts').waitFor()
  assert.match(page.url(), /search=person777&tag=1/)
  const downloading = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Export CSV' }).click()
  const exported = await readFile(await (await downloading).path(), 'utf8')
  assert.equal(exported.trim().split('\n').length, 6)

  await page.getByLabel('Search by name or e-mail').fill('')
  await page.getByLabel('Tag', { exact: true }).selectOption('')
  await page.getByLabel('List', { exact: true }).selectOption('Other')
  await page.getByText('1 contact', { exact: true }).waitFor()
  await page.getByLabel('List', { exact: true }).selectOption('')
  await page.getByLabel('State').selectOption('unsubscribed')
  await page.getByRole('link', { name: 'person0@example.org' }).waitFor()
})

const typeAtOnce = `new MutationObserver((_, observer) => {
  const field = document.querySelector('input[data-search]')
  if (!field) return
  observer.disconnect()
  field.value = 'bob@'
  field.dispatchEvent(new Event('input', { bubbles: true }))
}).observe(document.body, { childList: true, subtree: true })`

consoleTest('a filter by a segment that is deleted can be taken off', async ({ page, visit, data, allowErrors }) => {
  allowErrors()
  await data('POST', '/contacts', { email: 'ada@example.org' })
  await data('POST', '/segments', { name: 'Readers', filters: {} })
  await data('DELETE', '/segments/1')
  await visit('/console/contacts?segment=1')
  const segment = page.getByLabel('Segment', { exact: true })
  await segment.waitFor()
  assert.equal(await segment.locator('option:checked').textContent(), '#1')
  await segment.selectOption('')
  await page.getByRole('link', { name: 'ada@example.org' }).waitFor()
})

consoleTest('the preview of a file with old line ends has its rows', async ({ page, visit, data }) => {
  await data('POST', '/lists', { name: 'News' })
  await visit('/console/import')
  const csv = 'email;name\rada@example.org;Ada\rbob@example.org;Bob\r'
  await page
    .locator('input[type=file]')
    .setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) })
  await page.getByRole('cell', { name: 'bob@example.org', exact: true }).waitFor()
  await page.getByRole('columnheader', { name: 'name', exact: true }).waitFor()
})

consoleTest('a search that is typed as soon as its field appears is kept', async ({ page, visit, data }) => {
  for (const name of ['ada', 'bob']) await data('POST', '/contacts', { email: `${name}@example.org` })
  await visit('/console/tags')
  await page.evaluate(typeAtOnce)
  await page.getByRole('link', { name: 'Contacts', exact: true }).click()
  await page.getByRole('link', { name: 'bob@example.org' }).waitFor()
  await page.getByRole('link', { name: 'ada@example.org' }).waitFor({ state: 'detached' })
  assert.equal(await page.getByLabel('Search by name or e-mail').inputValue(), 'bob@')
})

consoleTest('a search that pauses between two words keeps the space', async ({ page, visit, data }) => {
  await data('POST', '/contacts', { email: 'ada@example.org', name: 'Ada Lovelace' })
  await visit('/console/contacts')
  const search = page.getByLabel('Search by name or e-mail')
  await search.pressSequentially('ada ')
  await page.waitForURL('**/contacts?search=ada')
  await search.pressSequentially('love')
  await page.waitForURL('**/contacts?search=ada+love')
  await page.getByRole('link', { name: 'ada@example.org' }).waitFor()
})

consoleTest('values with markup are shown as text', async ({ page, visit, data }) => {
  const markup = '<img src=x onerror="document.title=1"><script>1</script>'
  await data('POST', '/lists', { name: `list ${markup}` })
  await data('POST', '/lists/1/topics', { name: `topic ${markup}`, description: markup })
  const contact = { email: 'ada@example.org', name: `name ${markup}`, tags: [`tag ${markup}`], [markup]: markup }
  await data('POST', '/lists/1/contacts', contact)
  await data('PUT', '/contacts/1/topics/1')
  await data('POST', '/tokens', { name: `token ${markup}`, role: 'viewer' })
  const url = `http://127.0.0.1:9/${encodeURIComponent(markup)}`
  await data('POST', '/webhook-endpoints', { url, events: ['contact.created'], description: `hook ${markup}` })
  for (const [path, text] of [
    ['/console/contacts', `name ${markup}`],
    ['/console/contacts/1', `topic ${markup}`],
    ['/console/lists', `list ${markup}`],
    ['/console/lists/1', `topic ${markup}`],
    ['/console/tags', `tag ${markup}`],
    ['/console/tokens', `token ${markup}`],
    ['/console/webhooks', `hook ${markup}`],
    ['/console/webhooks/1', `hook ${markup}`],
  ] as const) {
    await visit(path)
    await page.getByText(text).first().waitFor({ state: 'attached' })
    assert.equal(await page.locator('main img, main script').count(), 0, path)
  }
})

consoleTest('a list with double opt-in asks the contact first', async ({ page, visit, data }) => {
  await data('POST', '/lists', { name: 'News', double_opt_in: true })
  await data('POST', '/contacts', { email: 'ada@example.org' })
  await visit('/console/contacts/1')
  await page.getByRole('button', { name: 'Put on a list' }).click()
  await page.getByRole('button', { name: 'Put on list' }).click()
  await page.getByText('The contact is asked to confirm').waitFor()
  await page.getByText('On no list.').waitFor()
  await page.getByRole('listitem').filter({ hasText: 'confirmation requested list 1, by api' }).waitFor()
})

consoleTest('a segment is created, filters contacts, is changed and deleted', async (world) => {
  const { page, visit, data, allowErrors } = world
  allowErrors()
  for (const name of ['News', 'Offers']) await data('POST', '/lists', { name })
  await data('POST', '/lists/1/topics', { name: 'Weekly' })
  await data('POST', '/lists/1/contacts', { email: 'ada@example.org', tags: ['vip'], plan: 'pro' })
  await data('POST', '/lists/1/contacts', { email: 'bob@example.org', plan: 'pro' })
  await data('POST', '/lists/2/contacts', { email: 'bob@example.org' })
  await visit('/console/segments')
  await page.getByText('No segment yet.').waitFor()
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'Attributes' }).click()
  await dialog.getByLabel('Names').fill('plan\n city \n')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The attributes are saved.').waitFor()
  assert.deepEqual(await data('GET', '/settings/attributes'), { indexed: ['plan', 'city'] })
  await page.keyboard.press('n')
  await dialog.getByLabel('Name', { exact: true }).fill('Readers')
  await dialog.getByRole('group', { name: 'On any of these lists' }).getByLabel('News').check()
  await dialog.getByText('Topics, and who is left out').click()
  await dialog.getByRole('group', { name: 'On none of these lists' }).getByLabel('Offers').check()
  await dialog.getByLabel('Weekly (News)').waitFor()
  await dialog.getByLabel('Attributes').fill('plan: pro')
  await dialog.getByLabel('Created after').fill('yesterday')
  await dialog.getByRole('button', { name: 'Create segment' }).click()
  await dialog.getByRole('alert').getByText('Created after:').waitFor()
  await dialog.getByLabel('Created after').fill('2020-01-01T00:00:00Z')
  await dialog.getByRole('button', { name: 'Create segment' }).click()
  await page.getByText('lists, exclude lists, attributes, created after').waitFor()
  await page.getByRole('link', { name: 'Readers' }).click()
  await heading(page, 'Contacts')
  await page.getByText('1 contact', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'ada@example.org' }).waitFor()

  await visit('/console/segments')
  await page.getByRole('button', { name: 'Edit Readers' }).click()
  await dialog.getByLabel('Name', { exact: true }).fill('All readers')
  await dialog.getByRole('group', { name: 'On none of these lists' }).getByLabel('Offers').uncheck()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('button', { name: 'Delete All readers' }).waitFor()
  const [{ filters }] = await data<[{ filters: object }]>('GET', '/segments')
  const unchanged = { attributes: { plan: 'pro' }, created_after: '2020-01-01T00:00:00Z' }
  assert.deepEqual(filters, { lists: [1], ...unchanged })
  await page.getByRole('button', { name: 'Delete All readers' }).click()
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No segment yet.').waitFor()
})

consoleTest('an attribute keeps its name with a colon when another one of its segment changes', async (world) => {
  const { page, visit, data } = world
  await data('PUT', '/settings/attributes', { indexed: ['Frage 1: Alter', 'plan'] })
  const attributes = { 'Frage 1: Alter': '30', plan: 'pro' }
  await data('POST', '/segments', { name: 'Readers', filters: { attributes } })
  await visit('/console/segments')
  await page.getByRole('button', { name: 'Edit Readers' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Attributes').fill('Frage 1: Alter: 30\nplan: basic')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.waitFor({ state: 'detached' })
  const [{ filters }] = await data<[{ filters: object }]>('GET', '/segments')
  assert.deepEqual(filters, { attributes: { ...attributes, plan: 'basic' } })
})

consoleTest('a tag whose name has a comma is given as a whole', async ({ page, visit, data }) => {
  const names = async (id: number) => {
    const { tags } = await data<{ tags: { name: string }[] }>('GET', `/contacts/${id}`)
    return tags.map(({ name }) => name).toSorted()
  }
  await data('POST', '/tags', { name: 'Smith, John' })
  await data('POST', '/contacts', { email: 'ada@example.org' })
  await visit('/console/contacts/1')
  const field = page.getByLabel('Tags to add')
  for (const text of ['smith, john', 'vip, press']) {
    await field.fill(text)
    await page.keyboard.press('Enter')
    await until(
      () => field.inputValue(),
      (shown) => shown === '',
    )
  }
  assert.deepEqual(await names(1), ['Smith, John', 'press', 'vip'])
  await visit('/console/contacts')
  await page.getByRole('button', { name: 'New contact' }).click()
  await page.getByRole('textbox', { name: 'E-mail' }).fill('bob@example.org')
  await page.getByLabel('Tags').fill('Smith, John')
  await page.getByRole('button', { name: 'Create contact' }).click()
  await heading(page, 'bob@example.org')
  assert.deepEqual(await names(2), ['Smith, John'])
})

consoleTest('a contact that is edited keeps its line breaks', async ({ page, visit, data }) => {
  const stored = { name: 'Ada\nLovelace', email: 'ada@example.org' }
  await data('POST', '/contacts', { ...stored, bio: 'First\nSecond' })
  await visit('/console/contacts/1')
  await page.getByRole('button', { name: 'Edit' }).click()
  await page.getByLabel('Value of attribute 1').press('ControlOrMeta+End')
  await page.keyboard.type('!')
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  const contact = await data<{ name: string; email: string; extra_attributes: object }>('GET', '/contacts/1')
  assert.deepEqual(contact, { ...contact, ...stored, extra_attributes: { bio: 'First\nSecond!' } })
})

consoleTest('an erased contact is not a link among the enrolments of a sequence', async ({ page, visit, data }) => {
  for (const name of ['ada', 'bob']) await data('POST', '/contacts', { email: `${name}@example.org` })
  await data('POST', '/sequences', { name: 'Welcome', status: 'paused', steps: [] })
  for (const contact_id of [1, 2]) await data('POST', '/sequences/1/enrolments', { contact_id })
  await data('DELETE', '/contacts/1')
  await visit('/console/sequences/1')
  await page.getByText('Enrolments').click()
  await page.getByRole('link', { name: 'bob@example.org' }).waitFor()
  await page.getByRole('cell', { name: 'contact 1', exact: true }).waitFor()
  assert.equal(await page.getByRole('link', { name: 'contact 1' }).count(), 0)
})

consoleTest('a topic with marks of text direction turns no other words of the history', async (world) => {
  const { page, visit, data } = world
  await data('POST', '/lists', { name: 'News' })
  await data('POST', '/lists/1/topics', { name: '\u202edlrow' }) // reads right to left, and has no end
  await data('POST', '/lists/1/contacts', { email: 'ada@example.org' })
  await data('PUT', '/contacts/1/topics/1')
  await visit('/console/contacts/1')
  const source = page.locator('.history li').first().getByText('by api')
  await source.waitFor()
  const places = await source.evaluate(`(() => {
    const text = [...document.querySelectorAll('.history li .muted')][0].firstChild
    const range = document.createRange()
    return [...text.data].map((_, at) => {
      range.setStart(text, at)
      range.setEnd(text, at + 1)
      return range.getBoundingClientRect().left
    })
  })()`)
  assert.deepEqual(
    places,
    (places as number[]).toSorted((a, b) => a - b),
  )
})

consoleTest('a contact whose name is a space has its address as title', async ({ page, visit, data }) => {
  await data('POST', '/contacts', { email: 'ada@example.org', name: '\u00a0' })
  await visit('/console/contacts/1')
  await heading(page, 'ada@example.org')
})
