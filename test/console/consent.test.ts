import assert from 'node:assert/strict'
import { consoleTest, heading } from './world.ts'

consoleTest('an address is suppressed, and freed again', async ({ page, visit, data }) => {
  await visit('/console/suppressions')
  await page.getByText('No address is suppressed.').waitFor()
  await page.keyboard.press('n')
  await page.getByLabel('E-mail').fill('gone@example.org')
  await page.getByRole('button', { name: 'Suppress', exact: true }).click()
  await page.getByRole('cell', { name: 'manual' }).waitFor()
  await page.getByRole('button', { name: 'Remove gone@example.org' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  await page.getByText('No address is suppressed.').waitFor()
  assert.deepEqual(await data('GET', '/suppressions'), [])
})

consoleTest('the pages for contacts get a name, a colour and own texts', async ({ page, visit, data, allowErrors }) => {
  allowErrors()
  await visit('/console/pages')
  await heading(page, 'Page settings')
  await page.getByLabel('Name', { exact: true }).fill('Acme')
  await page.getByLabel('Colour of buttons').fill('blue')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('alert').getByText('Colour of buttons:').waitFor()
  await page.getByLabel('Colour of buttons').fill('#0a58ca')
  await page.getByLabel('Language').selectOption('de')
  await page.getByLabel('Own texts').fill('unsubscribe_title: Bye: see you\n')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The settings are saved.').waitFor()
  const settings = await data<Record<string, unknown>>('GET', '/settings/pages')
  assert.equal(settings.name, 'Acme')
  assert.equal(settings.colour, '#0a58ca')
  assert.equal(settings.language, 'de')
  assert.deepEqual(settings.texts, { unsubscribe_title: 'Bye: see you' })
  await page.reload()
  assert.equal(await page.getByLabel('Own texts').inputValue(), 'unsubscribe_title: Bye: see you')
})

consoleTest('a text of several lines stays when another setting is saved', async ({ page, visit, data }) => {
  const texts = { unsubscribe_title: 'Bye', unsubscribe_text: 'We write twice a year.\nReally: no more than that.' }
  await data('PUT', '/settings/pages', { texts })
  await visit('/console/pages')
  await page.getByLabel('Name', { exact: true }).fill('Acme')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The settings are saved.').waitFor()
  assert.deepEqual((await data<{ texts: object }>('GET', '/settings/pages')).texts, texts)
})

consoleTest('an attribute without its name does not make a segment of everyone', async ({ page, visit, data }) => {
  await data('PUT', '/settings/attributes', { indexed: ['plan'] })
  await visit('/console/segments')
  await page.getByRole('button', { name: 'New segment' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name', { exact: true }).fill('Customers')
  await dialog.getByLabel('Attributes').fill('plan = pro')
  await dialog.getByRole('button', { name: 'Create segment' }).click()
  await dialog.getByText('"plan = pro" has no name.').waitFor()
  await dialog.getByLabel('Attributes').fill('plan: pro')
  await dialog.getByRole('button', { name: 'Create segment' }).click()
  await dialog.waitFor({ state: 'detached' })
  const segments = await data<{ filters: object }[]>('GET', '/segments')
  assert.deepEqual(
    segments.map(({ filters }) => filters),
    [{ attributes: { plan: 'pro' } }],
  )
})

consoleTest('a contact shows what changed its subscriptions', async ({ page, visit, data }) => {
  await data('POST', '/lists', { name: 'News' })
  await data('POST', '/lists/1/contacts', { email: 'ada@example.org' })
  await visit('/console/contacts/1')
  await page.getByText('list joined').waitFor()
  await page.getByRole('button', { name: 'Unsubscribe' }).click()
  await page.getByRole('listitem').filter({ hasText: ': unsubscribed, by api' }).waitFor()
})
