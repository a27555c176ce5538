/** What each route of the API does in its usual case, as tables. Other suites cover the odd cases of each slice. */
import assert from 'node:assert/strict'
import { test } from '../support/databases.ts'
import { overHttp } from '../support/harness.ts'
import { openWorld, routes, titleOf } from '../support/http-world.ts'
import { runScenarios, type Scenario } from '../support/scenarios.ts'
import { contacts } from './scenarios-contacts.ts'
import { sending } from './scenarios-sending.ts'
import { settings } from './scenarios-settings.ts'
import { webhooks } from './scenarios-webhooks.ts'

const tables: Readonly<Record<string, readonly Scenario[]>> = { contacts, sending, settings, webhooks }

// Through a host's Kysely, rows are read in another way, which every statement with rows has to pass.
overHttp(
  'scenarios',
  (open) => {
    for (const [name, scenarios] of Object.entries(tables)) {
      test(`of ${name}`, async (t) => {
        const service = await open(t, { dispatch: false })
        await runScenarios(t, service, await openWorld(service, 'acme'), scenarios)
      })
    }
  },
  ["a host's Kysely on PostgreSQL"],
)

test('every route has a scenario', () => {
  const shapeOf = (request: string) => request.replace(/:\w+/g, ':')
  const requests = new Set(
    Object.values(tables).flatMap((scenarios) => scenarios.map(({ request }) => shapeOf(request))),
  )
  // The answer of a portal link depends on the console: see portal.test.ts.
  const titles = routes.filter((route) => !route.needsConsole).map(titleOf)
  assert.deepEqual(
    titles.filter((title) => !requests.has(shapeOf(title))),
    [],
  )
})
