/** What a person meets who knows only the link of the first start. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openReceiver } from '../support/http-receiver.ts'
import { directory } from '../support/program.ts'
import { consoleTest, heading } from './world.ts'

consoleTest('an empty console says first what to do', async ({ page, visit }) => {
  await visit('/')
  await page.locator('main > header + p').filter({ hasText: 'No contact is subscribed yet. Import a file' }).waitFor()
  await visit('/console/contacts')
  await page.getByText('No contact is subscribed yet.').waitFor()
  await visit('/console/contacts?state=unsubscribed')
  await page.getByText('No contact matches.').waitFor()
  await visit('/console/deliveries')
  await page.getByText('No delivery yet.').waitFor()
  await page.getByRole('link', { name: 'endpoint' }).click()
  await heading(page, 'Webhooks')
  await visit('/console/newsletters')
  await page.getByText('written as files').waitFor()
})

consoleTest('after the dry run one button imports the rows, and a link shows the contacts', async (world) => {
  const { page, visit, data } = world
  await visit('/')
  await page.getByRole('link', { name: 'Import a file' }).click()
  await page.getByText('Only the e-mail address is required.').waitFor()
  const buffer = Buffer.from('email,name\nada@example.org,Ada\nbob@example.org,Bob\n')
  await page.getByLabel(/Drop a CSV/).setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer })
  await page.getByRole('button', { name: 'Start' }).click()
  const report = page.getByRole('status').filter({ hasText: 'Dry run: nothing was stored' })
  await report.getByText('2', { exact: true }).first().waitFor()
  await page.waitForFunction('scrollY > 0') // the report is below the options
  assert.match(await page.getByLabel(/people\.csv/).inputValue(), /people\.csv$/)
  await report.getByRole('button', { name: 'Import these rows' }).click()
  await page.getByRole('heading', { name: 'Imported' }).waitFor()
  assert.deepEqual(await data('GET', '/contacts/count'), { count: 2 })
  await page.getByRole('link', { name: 'Show the contacts' }).click()
  await page.getByText('2 contacts', { exact: true }).waitFor()
  assert.match(page.url(), /\/console\/contacts\?list=1&state=all$/)
})

consoleTest('the outcome of a test event appears by itself', async ({ page, visit, data }, t) => {
  const receiver = await openReceiver()
  t.after(() => receiver.close())
  receiver.replies({ status: 500, body: 'broken' })
  await data('POST', '/webhook-endpoints', { url: receiver.url(), events: ['contact.created'] })
  await visit('/console/webhooks/1')
  await page.getByText('No delivery yet.').waitFor()
  await page.getByRole('button', { name: 'Send test' }).click()
  await page.getByText('failing', { exact: true }).waitFor()
  await page.getByRole('cell', { name: '500' }).waitFor()
})

consoleTest('a form starts in its first field, and an error is said once', async ({ page, visit, allowErrors }) => {
  allowErrors()
  await visit('/console/webhooks')
  await page.getByText('No endpoint yet.').waitFor()
  await page.keyboard.press('n')
  await page.getByRole('dialog').waitFor()
  await page.keyboard.type('http://example.com:99/')
  for (const box of await page.getByRole('dialog').getByRole('checkbox').all()) await box.uncheck()
  await page.getByRole('button', { name: 'Create endpoint' }).click()
  const alert = page.getByRole('dialog').getByRole('alert')
  await alert.waitFor()
  const [said = ''] = (await alert.getByRole('listitem').allTextContents()).map((text) => text.replace(/^\w+: /, ''))
  assert.equal((await alert.textContent())?.split(said).length, 2)
})

consoleTest('a file that was changed after it was chosen is chosen again', async ({ page, visit, data }, t) => {
  const path = join(await directory(t), 'people.csv')
  await writeFile(path, 'email\nnot an address\n')
  await visit('/console/import')
  await page.getByLabel(/Drop a CSV/).setInputFiles(path)
  await page.getByRole('cell', { name: 'not an address' }).waitFor()
  await writeFile(path, 'email\nada@example.org\nbob@example.org\n')
  await page.getByRole('button', { name: 'Start' }).click()
  await page.getByRole('alert').getByText('Choose it again').waitFor()
  const choosing = page.waitForEvent('filechooser')
  await page.getByLabel('people.csv').click()
  assert.equal(await page.getByLabel('people.csv').inputValue(), '') // the browser reports the same file, too
  await (await choosing).setFiles(path)
  await page.getByRole('cell', { name: 'ada@example.org' }).waitFor()
  await page.getByRole('button', { name: 'Start' }).click()
  await page.getByRole('button', { name: 'Import these rows' }).click()
  await page.getByRole('heading', { name: 'Imported' }).waitFor()
  assert.deepEqual(await data('GET', '/contacts/count'), { count: 2 })
})

consoleTest('the reason why a file cannot be imported comes into view', async ({ page, visit, allowErrors }) => {
  allowErrors()
  await visit('/console/import')
  const rows = Array.from({ length: 20 }, (_, n) => `person${n}@example.org,"Person ${n}"`)
  const buffer = Buffer.from(['email,name', ...rows, 'ada@example.org,"A" da"'].join('\n'))
  await page.getByLabel(/Drop a CSV/).setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer })
  await page.getByRole('button', { name: 'Start' }).click()
  await page.getByRole('alert').getByText('a quote is missing').waitFor()
  assert.ok(await page.evaluate(`document.querySelector('[role=alert]').getBoundingClientRect().bottom <= innerHeight`))
})
