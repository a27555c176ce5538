/** A Chromium for tests: an installed Chrome, or else the one of an npm package, which runs on Linux. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import sparticuz from '@sparticuz/chromium'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'

type Found = { readonly browser: Browser } | { readonly skip: string }

let launched: Promise<Found> | undefined

/** Launches the browser once per process. Returns the reason if there is none, which is also printed. */
export function launchBrowser(): Promise<Found> {
  launched ??= launch()
  return launched
}

export async function closeBrowser(): Promise<void> {
  const found = await launched
  launched = undefined
  if (found && 'browser' in found) await found.browser.close()
}

async function launch(): Promise<Found> {
  const reasons: string[] = []
  const attempts = [
    async () => chromium.launch({ channel: 'chrome' }),
    async () => chromium.launch({ executablePath: await sparticuz.executablePath(), args: ['--no-sandbox'] }),
  ]
  for (const attempt of attempts) {
    try {
      return { browser: await attempt() }
    } catch (error) {
      reasons.push(String(error).split('\n')[0]!)
    }
  }
  const skip = `there is no Chromium: ${reasons.join('; ')}`
  process.stderr.write(`${skip}\n`)
  return { skip }
}

/** A tab that notes what must not happen. */
export interface Tab {
  readonly page: Page
  readonly context: BrowserContext
  /** Errors of scripts, violations of the Content-Security-Policy, and requests to other hosts. */
  readonly problems: string[]
}

/** Opens a tab with its own cookies. */
export async function openTab(browser: Browser, origin: string, options: BrowserContextOptions = {}): Promise<Tab> {
  const context = await browser.newContext({ locale: 'en-GB', ...options })
  const page = await context.newPage()
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(String(error)))
  page.on('console', (message) => {
    // A page that is answered with an error by intent is no problem.
    const isOfPage = message.location().url === page.url() && message.text().startsWith('Failed to load resource')
    if (!isOfPage && /^(?:error|warning)$/.test(message.type())) problems.push(message.text())
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(`${origin}/`)) problems.push(`request to ${request.url()}`)
  })
  return { page, context, problems }
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/**
 * Returns the violations that axe finds: WCAG 2.2 AA and best practices. One line each.
 *
 * @param rules Only these rules; default: all.
 */
export async function accessibilityViolations(page: Page, rules?: readonly string[]): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axeSource)
  const { violations } = await page.evaluate(
    async (runOnly) => await (globalThis as unknown as { axe: Axe }).axe.run(runOnly ? { runOnly } : {}),
    rules,
  )
  return violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map((node) => node.html).join(' ')}`)
}

interface Axe {
  run(options: object): Promise<{ violations: { id: string; help: string; nodes: { html: string }[] }[] }>
}
