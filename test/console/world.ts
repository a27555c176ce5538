/** The real daemon with its console in a real browser. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import type { BrowserContextOptions, Page, Route } from 'playwright-core'
import { accessibilityViolations, closeBrowser, launchBrowser, openTab } from '../support/browser.ts'
import { daemon, directory, type Environment } from '../support/program.ts'

after(closeBrowser)

const found = await launchBrowser()

export interface World {
  readonly page: Page
  readonly url: string
  /** The daemon's database. */
  readonly file: string
  /** The first admin token. */
  readonly token: string
  /** Calls the API with the admin token. @returns The answer's data. */
  readonly data: <T>(method: string, path: string, body?: object) => Promise<T>
  /** Imports a CSV file on a list. */
  importCsv(listId: number, text: string): Promise<void>
  /** Opens an address of the console, signed in. */
  visit(path: string): Promise<void>
  /** Accepts the answers of failed requests, which the browser reports as errors. */
  allowErrors(): void
}

/** A test with a daemon and a tab. Script errors, violations of the policy and foreign requests fail it. */
export function consoleTest(
  name: string,
  run: (world: World, t: TestContext) => Promise<void>,
  options: BrowserContextOptions = {},
  env: Environment = {},
): void {
  if ('skip' in found) {
    test(name, { skip: found.skip })
    return
  }
  const { browser } = found
  test(name, async (t) => {
    const cwd = await directory(t)
    const { url, ask } = await daemon(t, {
      cwd,
      env: { MAILKEEP_WEBHOOK_ALLOW_PRIVATE: 'true', MAILKEEP_MAIL_TRANSPORT: 'folder:mail', ...env },
    })
    const token = (await readFile(join(cwd, 'mailkeep.db.admin-token'), 'utf8')).trim()
    const { page, context, problems } = await openTab(browser, url, options)
    t.after(() => context.close())
    page.setDefaultTimeout(10_000)
    const data: World['data'] = async (method, path, body) => {
      const answer = await ask(method, `/api/v1${path}`, body)
      const text = await answer.text()
      assert.ok(answer.ok, `${method} ${path} → ${answer.status} ${text}`)
      return text === '' ? undefined : JSON.parse(text).data
    }
    let isAllowed = (_problem: string) => false
    await run(
      {
        page,
        url,
        file: join(cwd, 'mailkeep.db'),
        token,
        data,
        async importCsv(listId, text) {
          const headers = { authorization: `Bearer ${token}`, 'content-type': 'text/csv' }
          const path = `/api/v1/lists/${listId}/contacts/import`
          const answer = await fetch(url + path, { method: 'POST', headers, body: text })
          assert.equal(answer.status, 200, await answer.text())
        },
        async visit(path) {
          if (page.url() === 'about:blank') {
            await page.goto(`${url}/#token=${token}`)
            await page.locator('main#main').waitFor()
          }
          if (path !== '/') await page.goto(url + path)
        },
        allowErrors() {
          isAllowed = (problem) => problem.startsWith('Failed to load resource')
        },
      },
      t,
    )
    assert.deepEqual(
      problems.filter((problem) => !isAllowed(problem)),
      [],
    )
  })
}

/** @param rules Only these rules of axe; default: all. */
export async function assertAccessible(page: Page, what: string, rules?: readonly string[]): Promise<void> {
  assert.deepEqual(await accessibilityViolations(page, rules), [], what)
}

/** Waits until the page has a level-one heading with this text. */
export async function heading(page: Page, name: string): Promise<void> {
  await page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
}

/** Waits until the data of all parts of the page has arrived. */
export async function loaded(page: Page): Promise<void> {
  await page.locator('p.state[role=status], .loaded[aria-busy=true]').first().waitFor({ state: 'detached' })
}

/** Holds or refuses the requests of a method to a path until the result is called. */
export async function during(page: Page, method: string, path: string, answer: (route: Route) => Promise<void>) {
  await page.route(`**${path}`, (route) => (route.request().method() === method ? answer(route) : route.continue()))
  return () => page.unroute(`**${path}`)
}

/** Holds such requests back until the returned function is called. */
export async function holdBack(page: Page, method: string, path: string): Promise<() => void> {
  const { promise, resolve } = gate()
  await during(page, method, path, async (route) => {
    await promise
    await route.continue()
  })
  return resolve
}

/** Resolves when `resolve` is called. */
export function gate() {
  let resolve = () => {}
  const promise = new Promise<void>((opened) => {
    resolve = opened
  })
  return { promise, resolve }
}
