/** Two people, or two tabs, who change different fields of one record. */
import assert from 'node:assert/strict'
import { consoleTest } from './world.ts'

const html = '<p>{{ unsubscribe_url }}</p>\r\n<p>Bye</p>'

interface Sequence {
  readonly name: string
  readonly reply_to: string | null
  readonly steps: readonly { readonly id: number; readonly subject: string; readonly preheader: string | null }[]
}

consoleTest('two people who change a sequence and its step keep what each of them changes', async (world) => {
  const { page, visit, data } = world
  await data('POST', '/sequences', { name: 'Welcome' })
  const step = { delay_seconds: 0, subject: 'Hello', html }
  const { steps } = await data<Sequence>('PUT', '/sequences/1/steps', { steps: [step] })
  await visit('/console/sequences/1')
  await page.getByRole('button', { name: 'Edit Hello' }).click()
  await page.getByLabel('Preheader').fill('Mine')
  const others = {
    ...step,
    id: steps[0]!.id,
    subject: 'Of the other',
    html: '<p>{{ unsubscribe_url }} of the other</p>',
  }
  await data('PUT', '/sequences/1/steps', { steps: [others] })
  await page.getByRole('button', { name: 'Save step' }).click()
  await page.getByText('The steps are saved.').waitFor()
  const [stored] = (await data<Sequence>('GET', '/sequences/1')).steps
  assert.deepEqual(stored, { ...stored, ...others, preheader: 'Mine' })

  await page.getByRole('button', { name: 'Edit', exact: true }).click()
  await page.getByLabel('Reply to').fill('mine@example.org')
  await data('PATCH', '/sequences/1', { name: 'Of the other' })
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  const { name, reply_to } = await data<Sequence>('GET', '/sequences/1')
  assert.deepEqual([name, reply_to], ['Of the other', 'mine@example.org'])
})

consoleTest('two people on the page settings keep what each of them changes', async ({ page, visit, data }) => {
  await data('PUT', '/settings/pages', { name: 'Acme', texts: { unsubscribe_title: 'Leaving?' } })
  await visit('/console/pages')
  await page.getByLabel('Name', { exact: true }).fill('Mine')
  await data('PUT', '/settings/pages', { name: 'Acme', texts: {}, postal_address: 'Of the other' })
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The settings are saved.').waitFor()
  const stored = await data<object>('GET', '/settings/pages')
  assert.deepEqual(stored, { ...stored, name: 'Mine', texts: {}, postal_address: 'Of the other' })
})

consoleTest('a segment keeps the names and texts of attributes that have a colon', async ({ page, visit, data }) => {
  const attributes = { 'utm:source': ' a: b', 'x: y': '1' }
  await data('PUT', '/settings/attributes', { indexed: [...Object.keys(attributes), 'city'] })
  await data('POST', '/segments', { name: 'Mine', filters: { attributes } })
  const dialog = page.getByRole('dialog')
  const save = async () => {
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
  }
  const stored = () => data<{ name: string; filters: object }>('GET', '/segments/1')
  await visit('/console/segments')
  await page.getByRole('button', { name: 'Edit Mine' }).click()
  await dialog.getByLabel('Name', { exact: true }).fill('Renamed')
  await save()
  const { name, filters } = await stored()
  assert.deepEqual([name, filters], ['Renamed', { attributes }])

  await page.getByRole('button', { name: 'Edit Renamed' }).click()
  await dialog.getByLabel('Attributes').fill('utm:source: a: b\ncity:Paris')
  await save()
  assert.deepEqual((await stored()).filters, { attributes: { 'utm:source': 'a: b', city: 'Paris' } })
})

consoleTest('two people on a segment keep what each of them changes', async ({ page, visit, data }) => {
  interface Segment {
    readonly name: string
    readonly filters: object
  }
  for (const name of ['vip', 'press']) await data('POST', '/tags', { name })
  const filters = { search: 'ada', exclude_tags: [2, 1], tags: [2, 1] } // in another order than the dialog
  await data('POST', '/segments', { name: 'Mine', filters })
  await visit('/console/segments')
  await page.getByRole('button', { name: 'Edit Mine' }).click()
  await page.getByLabel('vip', { exact: true }).first().waitFor()
  await data('PATCH', '/segments/1', { filters: { search: 'grace' } })
  await page.getByLabel('Name', { exact: true }).fill('Renamed')
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await page.getByText('The segment is saved.').waitFor()
  const { name, filters: kept } = await data<Segment>('GET', '/segments/1')
  assert.deepEqual([name, kept], ['Renamed', { search: 'grace' }])
})

consoleTest(
  'each save of the page settings keeps what others have changed since the page was opened',
  async (world) => {
    const { page, visit, data } = world
    await visit('/console/pages')
    const save = async (label: string, text: string) => {
      await page.getByLabel(label, { exact: true }).fill(text)
      const stored = page.waitForResponse((response) => response.request().method() === 'PUT')
      await page.getByRole('button', { name: 'Save' }).click()
      await stored
      await page.getByRole('button', { name: 'Save' }).waitFor()
    }
    await save('Colour of buttons', '#222222')
    const stored = await data<object>('GET', '/settings/pages')
    await data('PUT', '/settings/pages', { ...stored, colour: '#333333' })
    for (const name of ['Once', 'Twice']) {
      await save('Name', name)
      const { colour } = await data<{ colour: string }>('GET', '/settings/pages')
      assert.equal(colour, '#333333', name)
    }
  },
)

consoleTest('a contact keeps an attribute that another program adds while its dialog is open', async (world) => {
  const { page, visit, data, allowErrors } = world
  allowErrors()
  await data('POST', '/contacts', { email: 'ada@example.org', plan: 'free' })
  await visit('/console/contacts/1')
  await page.getByRole('button', { name: 'Edit' }).click()
  await data('PUT', '/contacts/1', { city: 'London' })
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('E-mail').fill('ada@example.com')
  await dialog.getByRole('button', { name: 'Add attribute' }).click()
  await dialog.getByLabel('Name of attribute 2').fill('x'.repeat(300))
  await dialog.getByLabel('Value of attribute 2').fill('1')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByRole('alert').waitFor()
  await page.getByText('London').waitFor() // the page behind is loaded again, because the address is stored
  await dialog.getByLabel('Name of attribute 2').fill('level')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.waitFor({ state: 'detached' })
  const { email, extra_attributes } = await data<{ email: string; extra_attributes: object }>('GET', '/contacts/1')
  assert.deepEqual([email, extra_attributes], ['ada@example.com', { plan: 'free', city: 'London', level: '1' }])
})

consoleTest('two people on the attributes to filter by keep what each of them changes', async (world) => {
  const { page, visit, data } = world
  await data('PUT', '/settings/attributes', { indexed: ['plan', 'city', 'level'] })
  await visit('/console/segments')
  await page.getByRole('button', { name: 'Attributes' }).click()
  const names = page.getByLabel('Names')
  await names.fill((await names.inputValue()).replace('city\n', 'mine\n'))
  await data('PUT', '/settings/attributes', { indexed: ['plan', 'city', 'theirs'] })
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await page.getByText('The attributes are saved.').waitFor()
  const { indexed } = await data<{ indexed: string[] }>('GET', '/settings/attributes')
  assert.deepEqual(indexed, ['plan', 'theirs', 'mine'])
})

consoleTest('a topic that is renamed keeps the description that another person gives it', async (world) => {
  const { page, visit, data } = world
  await data('POST', '/lists', { name: 'News' })
  await data('POST', '/lists/1/topics', { name: 'Weekly', description: 'Old' })
  await visit('/console/lists/1')
  await page.getByRole('button', { name: 'Edit Weekly' }).click()
  await data('PATCH', '/topics/1', { description: 'Of the other' })
  await page.getByLabel('Name', { exact: true }).fill('Monthly')
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await page.getByRole('cell', { name: 'Of the other' }).waitFor()
  const [topic] = await data<{ name: string }[]>('GET', '/lists/1/topics')
  assert.equal(topic?.name, 'Monthly')
})

for (const action of ['Send', 'Delete']) {
  consoleTest(`a draft that another person sends is no draft any more when "${action}" is refused`, async (world) => {
    const { page, visit, data, allowErrors } = world
    allowErrors()
    await data('POST', '/newsletters', { subject: 'Hello', html })
    await visit('/console/newsletters/1')
    await page.getByRole('button', { name: action, exact: true }).click()
    await page.getByRole('dialog').waitFor()
    await data('POST', '/newsletters/1/send', action === 'Send' ? {} : { at: '2040-01-01T00:00:00Z' })
    await page.getByRole('dialog').getByRole('button', { name: action }).click()
    await page.locator('.facts').getByText('draft').waitFor({ state: 'detached' })
    assert.equal(await page.getByText(action === 'Send' ? 'sent' : 'scheduled', { exact: true }).count(), 1)
  })
}
