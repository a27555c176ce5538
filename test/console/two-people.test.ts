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
