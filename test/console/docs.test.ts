import assert from 'node:assert/strict'
import { assertAccessible, consoleTest, heading } from './world.ts'

interface Description {
  paths: Record<string, Record<string, { operationId: string }>>
  webhooks: Record<string, object>
}

consoleTest('the documentation shows every operation and every event', async ({ page, url }) => {
  await page.goto(`${url}/docs`)
  await heading(page, 'API documentation')
  const description = (await (await fetch(`${url}/api/v1/openapi.json`)).json()) as Description
  const ids = Object.values(description.paths).flatMap((item) =>
    Object.values(item).map(({ operationId }) => operationId),
  )
  const operations = page.locator('details.operation')
  await operations.first().waitFor()
  assert.equal(await operations.count(), ids.length + Object.keys(description.webhooks).length)
  await page.evaluate('for (const one of document.querySelectorAll("details.operation")) one.open = true')
  await page
    .locator('details.operation .content')
    .nth((await operations.count()) - 1)
    .waitFor()
  assert.equal(await page.getByRole('button', { name: /^Send [A-Z]+$/ }).count(), ids.length)
  for (const [name, count] of [
    ['Query', 5],
    ['Errors', 20],
    ['Payload', 10],
  ] as const) {
    assert.ok((await page.getByRole('heading', { name }).count()) >= count, name)
  }
  assert.equal(await page.getByText('`').count(), 0, 'code is marked as code')
})

consoleTest('a description whose answer breaks off can be loaded again', async ({ page, url }) => {
  await page.route('**/openapi.json', (route) => route.fulfill({ status: 200, body: '{"openapi": "3.1' }))
  await page.goto(`${url}/docs`)
  await page.getByRole('alert').waitFor()
  await page.unroute('**/openapi.json')
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.locator('details.operation').first().waitFor()
})

consoleTest('the menu stays in view on a long page', async ({ page, visit }) => {
  await visit('/docs')
  await page.locator('details.operation').last().scrollIntoViewIfNeeded()
  assert.ok(Number(await page.evaluate('scrollY')) > 1000)
  const box = await page.getByRole('link', { name: 'Contacts', exact: true }).boundingBox()
  assert.ok(box && box.y >= 0 && box.y < page.viewportSize()!.height, JSON.stringify(box))
})

consoleTest('an operation is tried with the tab’s token', async ({ page, visit, data }) => {
  await visit('/docs#createTag')
  const operation = page.locator('#createTag')
  await operation.getByLabel('Body, application/json').fill('{"name": "vip"}')
  await operation.getByRole('button', { name: 'Send POST' }).click()
  await operation.getByText('201').last().waitFor()
  await operation.getByText('x-request-id: ').waitFor()
  assert.equal((await data<unknown[]>('GET', '/tags')).length, 1)
  await page.getByLabel('Search operations and events').fill('delete tag')
  await page.locator('#deleteTag > summary').click()
  await page.getByRole('button', { name: 'Send DELETE' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  assert.equal((await data<unknown[]>('GET', '/tags')).length, 1)
  await page.getByRole('button', { name: 'Send DELETE' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click()
  await page.locator('#deleteTag').getByText('x-request-id: ').waitFor()
  assert.deepEqual(await data('GET', '/tags'), [])
})

consoleTest('an operation is tried with several values, and names what it deletes', async ({ page, visit, data }) => {
  for (const name of ['vip', 'press']) await data('POST', '/tags', { name })
  await data('POST', '/contacts', { email: 'ada@example.org', tags: ['vip'] })
  await visit('/docs#listContacts')
  const list = page.locator('#listContacts')
  const search = list.getByLabel('search', { exact: true })
  assert.doesNotMatch((await search.getAttribute('placeholder')) ?? '', /"/)
  await list.getByLabel('tags[]', { exact: true }).fill('[1, 2]')
  await list.getByRole('button', { name: 'Send GET' }).click()
  await list.getByText('200').last().waitFor()
  await page.getByLabel('Search operations and events').fill('delete tag')
  await page.locator('#deleteTag > summary').click()
  await page.locator('#deleteTag').getByLabel('tagId').fill('2')
  await page.getByRole('button', { name: 'Send DELETE' }).click()
  await page.getByRole('dialog').getByText('DELETE /api/v1/tags/2', { exact: true }).waitFor()
})

consoleTest('a newsletter is not sent by trying an operation before a question', async ({ page, visit, data }) => {
  const html = '<p>{{ unsubscribe_url }}</p>'
  await data('POST', '/contacts', { email: 'ada@example.org' })
  await data('POST', '/newsletters', { subject: 'Hello', html })
  await visit('/docs#sendNewsletter')
  await page.locator('#sendNewsletter').getByLabel('Body, application/json').fill('{}')
  await page.getByRole('button', { name: 'Send POST' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('POST /api/v1/newsletters/1/send', { exact: true }).waitFor()
  await assertAccessible(page, 'the question of an operation')
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  assert.equal((await data<{ status: string }>('GET', '/newsletters/1')).status, 'draft')
})

consoleTest(
  'an operation with a token of its own does not end the session',
  async ({ page, visit, allowErrors }) => {
    allowErrors()
    await visit('/docs')
    const operation = page.locator('details.operation').filter({ hasText: '/metrics' })
    await operation.locator('summary').click()
    await operation.getByRole('button', { name: 'Send GET' }).click()
    await operation.getByText('401').last().waitFor()
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
  },
  {},
  { MAILKEEP_METRICS_TOKEN: 'a-token-of-the-metrics-that-is-long-enough' },
)
