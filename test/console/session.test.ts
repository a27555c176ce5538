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

consoleTest('a token that was copied with spaces around it signs in', async ({ page, url, token }) => {
  await page.goto(`${url}/console/tags`)
  await page.getByLabel('API token').fill(`  ${token} `)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await heading(page, 'Tags')
})

consoleTest('keys do nothing before one has signed in', async ({ page, url, token }) => {
  await page.goto(`${url}/console/tags`)
  await page.getByLabel('API token').waitFor()
  for (const key of ['?', 'g', 'c']) await page.keyboard.press(key)
  await page.getByLabel('API token').fill(token)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await heading(page, 'Tags')
  assert.equal(await page.getByRole('dialog').count(), 0)
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

consoleTest('the form to sign in again is not closed by a gesture', async ({ page, url, data, allowErrors }) => {
  allowErrors()
  const { id, token } = await data<{ id: number; token: string }>('POST', '/tokens', { name: 'mine', role: 'admin' })
  await page.goto(`${url}/#token=${token}`)
  await heading(page, 'Overview')
  await data('DELETE', `/tokens/${id}`)
  // Not a click: a poll of the overview may have opened the dialog already.
  for (const key of ['g', 'c']) await page.keyboard.press(key)
  const dialog = page.getByRole('dialog', { name: 'Sign in again' })
  await dialog.waitFor()
  await page.evaluate("document.querySelector('dialog').requestClose()") // as the Back gesture of Android does
  assert.ok(await dialog.isVisible())
})

consoleTest('a viewer and a member see what they may see and do', async ({ page, url, data, allowErrors }) => {
  allowErrors()
  await data('POST', '/lists', { name: 'News' })
  await data('POST', '/lists/1/contacts', { email: 'ada@example.org', tags: ['vip'] })
  await data('POST', '/newsletters', { name: 'January', subject: 'Hi', html: '<p>{{ unsubscribe_url }}</p>' })
  const menu = page.getByRole('navigation', { name: 'Sections' })
  const open = async (role: string) => {
    const { token } = await data<{ token: string }>('POST', '/tokens', { name: role, role })
    await page.goto('about:blank')
    await page.goto(`${url}/#token=${token}`)
    await heading(page, 'Overview')
    await menu.getByRole('link', { name: 'Webhooks' }).waitFor({ state: 'detached' })
  }
  const buttons = (name: string) => page.locator('main').getByRole('button', { name, exact: true }).count()

  await open('viewer')
  assert.equal(await menu.getByRole('link', { name: 'Import' }).count(), 0)
  for (const [section, shown] of [
    ['Contacts', 'ada@example.org'],
    ['Lists & topics', 'News'],
    ['Tags', 'vip'],
    ['Segments', 'No segment yet.'],
    ['Newsletters', 'January'],
    ['Sequences', 'No sequence yet.'],
    ['Identities', 'No sender identity yet.'],
    ['Suppressions', 'No address is suppressed.'],
  ] as const) {
    await menu.getByRole('link', { name: section }).click()
    await page.locator('main').getByText(shown).first().waitFor()
    assert.deepEqual([section, await page.locator('[data-new], td.do button').count()], [section, 0])
  }
  await page.goto(`${url}/console/contacts/1`)
  await page.getByText('list joined').waitFor()
  await page.getByRole('link', { name: 'Webhooks' }).waitFor({ state: 'detached' })
  assert.deepEqual(await page.locator('main').getByRole('button').allTextContents(), ['Save everything stored'])
  for (const path of ['webhooks', 'webhooks/1', 'deliveries', 'import', 'pages', 'tokens', 'audit']) {
    await page.goto(`${url}/console/${path}`)
    await page.getByRole('alert').getByText('This token’s role may not do this.').waitFor()
    await page.getByText('forbidden').waitFor()
    await menu.getByRole('link', { name: 'Tokens' }).waitFor({ state: 'detached' })
    assert.deepEqual([path, await page.locator('main').getByRole('button').allTextContents()], [path, []])
  }

  await open('member')
  await page.goto(`${url}/console/contacts/1`)
  await page.getByRole('button', { name: 'Unsubscribe' }).click()
  await page.getByRole('button', { name: 'Resubscribe' }).waitFor()
  await page.goto(`${url}/console/newsletters/1`)
  await page.getByRole('button', { name: 'Delete' }).waitFor()
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor({ state: 'detached' })
  assert.equal(await buttons('Save'), 1)
})

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
    ['e', 'Segments'],
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
    await page.keyboard.press('/') // some pages have a choice instead of a search
    await page.keyboard.press('Escape')
    await page.evaluate('document.activeElement.blur()')
  }
  await page.getByRole('link', { name: 'bob@example.org' }).waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await heading(page, 'bob@example.org')
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keyboard' }).getByText('Search or filter, if the page can').waitFor()
  await page.keyboard.press('Escape')
  assert.equal(await page.getByRole('dialog').count(), 0)
})

consoleTest('the key / chooses a filter where a page has no search', async ({ page, visit, data }) => {
  await data('POST', '/sequences', { name: 'Welcome', status: 'paused' })
  await visit('/console/sequences/1?status=sent')
  await page.getByText('No message matches.').waitFor()
  await page.keyboard.press('/')
  assert.equal(await page.evaluate('document.activeElement.ariaLabel'), 'Status of messages')
})

consoleTest('an error shows its code and the id of its request', async ({ page, visit, allowErrors }) => {
  allowErrors()
  await visit('/console/contacts/999')
  const alert = page.getByRole('alert')
  await alert.getByText('not_found').waitFor()
  assert.match((await alert.textContent()) ?? '', /request [\w-]{36}/)
  await alert.getByRole('button', { name: 'Try again' }).waitFor()
  for (const [path, title] of [
    ['/console/contacts/999', 'Contact not found'],
    ['/console/contacts/abc', 'Contact not found'],
    ['/console/contacts/0x1', 'Contact not found'],
    ['/console/lists/abc', 'List not found'],
    ['/console/newsletters/abc', 'Newsletter not found'],
    ['/console/sequences/-1', 'Sequence not found'],
    ['/console/webhooks/abc', 'Endpoint not found'],
    ['/console/webhooks/1/deliveries/abc', 'Delivery not found'],
  ] as const) {
    await visit(path)
    await heading(page, title)
    await alert.getByText('not_found').waitFor()
  }
  for (const path of ['/console/contacts?list=abc', '/console/contacts?segment=abc', '/console/audit?token=abc']) {
    await visit(path)
    await alert.getByText('This must be a whole number.').first().waitFor()
  }
  await visit('/console/nothing')
  await heading(page, 'Not found')
  await page.route('**/openapi.json', (route) => route.fulfill({ status: 502, body: '<h1>Bad gateway</h1>' }))
  await visit('/docs')
  await alert.getByText('The server answered 502.').waitFor()
  await page.route('**/api/v1/**', (route) => route.abort())
  for (const path of ['/docs', '/console/lists']) {
    await visit(path)
    await alert.getByText('no_connection').waitFor()
  }
})

consoleTest('a browser may name a language that does not exist', async ({ page, visit }) => {
  await page.addInitScript(
    `Object.defineProperty(Navigator.prototype, 'language', { get: () => 'C', configurable: true })`,
  )
  await visit('/')
  await heading(page, 'Overview')
  await page.locator('.canvas canvas').first().waitFor({ state: 'attached' })
})
