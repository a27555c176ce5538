import assert from 'node:assert/strict'
import { consoleTest, heading } from './world.ts'

consoleTest('a newsletter is written with a live preview, and sent', async ({ page, visit, data }) => {
  await data('POST', '/lists', { name: 'News' })
  await data('POST', '/lists/1/contacts', { email: 'ada@example.org', name: 'Ada' })
  await data('POST', '/contacts', { email: 'bob@example.org', name: 'Bob' })
  await data('POST', '/email-identities', { email: 'news@example.com', name: 'News' })
  await visit('/console/newsletters')
  await page.getByText('No newsletter.').waitFor()
  await page.keyboard.press('n')
  await page.getByLabel('Subject').fill('Hello {{ contact.name }}')
  await page.getByRole('button', { name: 'Create draft' }).click()
  await heading(page, 'Hello {{ contact.name }}')
  await page.getByText('2 contacts').waitFor()
  await page.getByText('Hello Ada', { exact: true }).waitFor()

  const html = `<style>p { color: red }</style><p style="color: green">Dear {{ contact.name }}</p><script>1</script>
    <img src="https://example.com/x.png" alt="Logo"><a href="{{ unsubscribe_url }}">Unsubscribe</a>`
  await page.getByLabel('HTML').fill(html)
  await page.getByText('Dear Ada', { exact: true }).waitFor()
  await page.getByText('[picture: Logo]').first().waitFor()
  assert.equal(await page.locator('.mail script, .mail img, .mail style').count(), 0)
  await page.getByLabel('Contact of the preview').selectOption('bob@example.org')
  await page.getByText('Dear Bob', { exact: true }).waitFor()
  await page.getByLabel('News', { exact: true }).check()
  await page.getByText('1 contact', { exact: true }).waitFor()

  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click()
  await page.getByText('1 of 1 messages are final').waitFor()
  await page.getByRole('button', { name: 'Refresh' }).click()
  await page.getByRole('link', { name: 'contact 1' }).waitFor()
  const { status } = await data<{ status: string }>('GET', '/newsletters/1')
  assert.equal(status, 'sent')
})

consoleTest('a sequence gets steps, is resumed and stopped for a contact', async ({ page, visit, data }) => {
  await data('POST', '/lists', { name: 'News' })
  await visit('/console/sequences')
  await page.getByText('No sequence yet.').waitFor()
  await page.keyboard.press('n')
  await page.getByLabel('Name', { exact: true }).fill('Welcome')
  await page.getByLabel('Contacts who join this list are enrolled').selectOption('News')
  await page.getByRole('button', { name: 'Create sequence' }).click()
  await heading(page, 'Welcome')
  await page.keyboard.press('n')
  await page.getByLabel('Subject').fill('First')
  await page.getByRole('button', { name: 'Save step' }).click()
  await page.getByText('1 d after the enrolment').waitFor()
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.getByText('active', { exact: true }).waitFor()
  await data('POST', '/lists/1/contacts', { email: 'ada@example.org' })
  await page.reload()
  await page.getByRole('button', { name: 'Stop the enrolment of contact 1' }).click()
  await page.getByText('The enrolment is stopped.').waitFor()
  assert.deepEqual(
    (await data<{ status: string }[]>('GET', '/sequences/1/enrolments')).map(({ status }) => status),
    ['stopped'],
  )
})

consoleTest('a sender identity is created and deleted', async ({ page, visit, data }) => {
  await visit('/console/identities')
  await page.getByText('No sender identity yet.').waitFor()
  await page.keyboard.press('n')
  await page.getByLabel('E-mail').fill('news@example.com')
  await page.getByRole('button', { name: 'Create identity' }).click()
  await page.getByRole('button', { name: 'Delete news@example.com' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No sender identity yet.').waitFor()
  assert.deepEqual(await data('GET', '/email-identities'), [])
})
