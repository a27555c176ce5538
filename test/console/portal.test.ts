import assert from 'node:assert/strict'
import { test } from 'node:test'
import { daemon, directory } from '../support/program.ts'
import { assertAccessible, consoleTest, heading } from './world.ts'

consoleTest('a link opens the webhook pages for a customer, and nothing else', async ({ page, url, data }) => {
  await data('PUT', '/settings/pages', { name: 'Acme', colour: '#aa0044' })
  await data('POST', '/webhook-endpoints', { url: 'http://127.0.0.1:9/', events: ['contact.created'] })
  await data('POST', '/contacts', { email: 'ada@example.org' })
  const link = await data<{ url: string }>('POST', '/portal-links', { role: 'webhooks' })
  await page.goto(url + new URL(link.url).pathname + new URL(link.url).hash)
  await heading(page, 'Webhooks')
  assert.equal(page.url(), `${url}/portal`)
  await page.getByRole('link', { name: 'Acme' }).waitFor()
  assert.equal(await page.title(), 'Webhooks')
  assert.deepEqual(await page.getByRole('navigation', { name: 'Sections' }).getByRole('link').allTextContents(), [
    'Webhooks',
    'Deliveries',
  ])
  await page.getByRole('button', { name: 'New endpoint' }).click()
  assert.doesNotMatch(await page.getByRole('dialog').innerText(), /MAILKEEP_/, 'a customer cannot change settings')
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('link', { name: 'http://127.0.0.1:9/' }).click()
  await page.getByRole('link', { name: /contact\.created #1/ }).click()
  await heading(page, 'Delivery 1')
  await page.reload()
  await heading(page, 'Delivery 1')
  await assertAccessible(page, 'a delivery in the portal')
  await page.goto(`${url}/portal/an/old/address/of/it`)
  await page.getByRole('link', { name: 'Go to the webhooks.' }).click()
  await heading(page, 'Webhooks')
  await page.getByRole('link', { name: 'Deliveries', exact: true }).click()
  await heading(page, 'Deliveries')
  await page.getByRole('link', { name: 'http://127.0.0.1:9/' }).click()
  await page.waitForURL('**/portal/1')
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByText('The link is no longer valid').waitFor()
})

consoleTest('a portal works without the storage of the browser', async ({ page, url, data }) => {
  await page.addInitScript(`Object.defineProperty(window, 'sessionStorage', { get() { throw new Error('blocked') } })`)
  const link = await data<{ url: string }>('POST', '/portal-links', { role: 'webhooks' })
  await page.goto(url + new URL(link.url).pathname + new URL(link.url).hash)
  await page.getByText('No endpoint yet.').waitFor()
  await page.getByRole('link', { name: 'Deliveries', exact: true }).click()
  await page.getByText('No delivery yet.').waitFor()
})

test('only pages of MAILKEEP_PORTAL_ORIGINS may embed the portal', async (t) => {
  const origins = 'https://app.example.com,https://b.example.com'
  const { url } = await daemon(t, { cwd: await directory(t), env: { MAILKEEP_PORTAL_ORIGINS: origins } })
  const ancestors = async (path: string) =>
    /frame-ancestors (.*)$/.exec((await fetch(url + path)).headers.get('content-security-policy') ?? '')?.[1]
  assert.equal(await ancestors('/portal'), 'https://app.example.com https://b.example.com')
  assert.equal(await ancestors('/portal/1/deliveries/2'), 'https://app.example.com https://b.example.com')
  assert.equal(await ancestors('/'), "'none'")
  assert.equal(await ancestors('/console/webhooks'), "'none'")
})

test('MAILKEEP_PORTAL_ORIGINS may have names that are not ASCII, as browsers compare them', async (t) => {
  const origins = 'https://例え.example, HTTPS://Bücher.example:443'
  const { url } = await daemon(t, { cwd: await directory(t), env: { MAILKEEP_PORTAL_ORIGINS: origins } })
  const policy = (await fetch(`${url}/portal`)).headers.get('content-security-policy')
  assert.match(policy!, /frame-ancestors https:\/\/xn--r8jz45g\.example https:\/\/xn--bcher-kva\.example$/)
})
