import assert from 'node:assert/strict'
import { consoleTest, heading } from './world.ts'

consoleTest('the link of the first start signs in, and leaves the address bar', async ({ page, url, token }) => {
  const sent: string[] = []
  page.on('request', (request) => sent.push(request.url()))
  await page.goto(`${url}/#token=${token}`)
  await heading(page, 'Overview')
  assert.equal(page.url(), `${url}/`)
  assert.equal(await page.evaluate('history.length'), 2) // about:blank and this page
  assert.ok(sent.every((one) => !one.includes(token)))
  assert.deepEqual(await page.context().cookies(), [])
  assert.equal(await page.evaluate('localStorage.length'), 0)
})

consoleTest('one signs in with a token, and signs out', async ({ page, url, token, allowErrors }) => {
  allowErrors()
  await page.goto(`${url}/console/lists`)
  await page.getByLabel('API token').fill('wrong')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('alert').getByText('unauthenticated').waitFor()
  await page.getByLabel('API token').fill(token)
  await page.keyboard.press('Enter')
  await heading(page, 'Lists and topics')
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('API token').waitFor()
  assert.equal(await page.evaluate('sessionStorage.length'), 0)
})

consoleTest('a token that is revoked ends the session', async ({ page, url, data, allowErrors }) => {
  allowErrors()
  const { id, token } = await data<{ id: number; token: string }>('POST', '/tokens', { name: 'mine', role: 'admin' })
  await page.goto(`${url}/#token=${token}`)
  await heading(page, 'Overview')
  await data('DELETE', `/tokens/${id}`)
  await page.keyboard.press('g')
  await page.keyboard.press('c')
  await page.getByText('The token is not valid').waitFor()
})

consoleTest(
  'a viewer sees no pages of admins, and reads why a change fails',
  async ({ page, url, data, allowErrors }) => {
    allowErrors()
    await data('POST', '/contacts', { email: 'ada@example.org' })
    const { token } = await data<{ token: string }>('POST', '/tokens', { name: 'reader', role: 'viewer' })
    await page.goto(`${url}/#token=${token}`)
    await page.getByRole('link', { name: 'Contacts' }).click()
    await page.getByRole('link', { name: 'ada@example.org' }).click()
    assert.equal(await page.getByRole('link', { name: 'Webhooks' }).count(), 0)
    await page.getByRole('button', { name: 'Unsubscribe' }).click()
    await page.getByText('This token’s role may not do this.').waitFor()
    await page.getByText('forbidden').waitFor()
    await page.goto(`${url}/console/webhooks`)
    await page.getByRole('alert').getByText('This token’s role may not do this.').waitFor()
  },
)

consoleTest('everything is reached by keys', async ({ page, visit, data }) => {
  await data('POST', '/contacts', { email: 'ada@example.org' })
  await data('POST', '/contacts', { email: 'bob@example.org' })
  await visit('/')
  await heading(page, 'Overview')
  for (const [key, name] of [
    ['c', 'Contacts'],
    ['i', 'Import'],
    ['l', 'Lists and topics'],
    ['t', 'Tags'],
    ['n', 'Newsletters'],
    ['q', 'Sequences'],
    ['w', 'Webhooks'],
    ['d', 'Deliveries'],
    ['s', 'Sender identities'],
    ['x', 'Suppressions'],
    ['p', 'Page settings'],
    ['k', 'Tokens'],
    ['a', 'Audit log'],
    ['h', 'API documentation'],
    ['o', 'Overview'],
    ['c', 'Contacts'],
  ] as const) {
    await page.keyboard.press('g')
    await page.keyboard.press(key)
    await heading(page, name)
  }
  await page.getByRole('link', { name: 'bob@example.org' }).waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await heading(page, 'bob@example.org')
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keyboard' }).waitFor()
  await page.keyboard.press('Escape')
  assert.equal(await page.getByRole('dialog').count(), 0)
})

consoleTest('an error shows its code and the id of its request', async ({ page, visit, allowErrors }) => {
  allowErrors()
  await visit('/console/contacts/999')
  const alert = page.getByRole('alert')
  await alert.getByText('not_found').waitFor()
  assert.match((await alert.textContent()) ?? '', /request [\w-]{36}/)
  await alert.getByRole('button', { name: 'Try again' }).waitFor()
  await visit('/console/nothing')
  await heading(page, 'Not found')
})
