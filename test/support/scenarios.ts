/** Runs a table of requests to the HTTP API: who may send each, what it answers, and which events it raises. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { EventType } from '../../lib/index.ts'
import type { Tenant } from './harness.ts'
import { allEventTypes, eventData, shapeOf } from './http-answers.ts'
import { type Answer, assertInvalid } from './http-call.ts'
import { assertShape, deliveriesMeta, meta, type Shape } from './http-shapes.ts'

const roles = ['viewer', 'member', 'admin'] as const
type Role = (typeof roles)[number]

/** In paths, bodies and answers `:listId` is the id of a record: of the world, or kept by an earlier scenario. */
export interface Scenario {
  readonly name: string
  /** Method, and path below `/api/v1`. */
  readonly request: string
  readonly query?: string
  readonly body?: object
  /** A file for an import. */
  readonly csv?: string
  /** The lowest role that may send it, where that is not the route's. */
  readonly role?: Role
  readonly status: number
  /** Fields of `data`. Other fields may have any value that their type allows. */
  readonly data?: unknown
  /** Fields that each record has here beside those of `http-answers.ts`. */
  readonly more?: Shape
  /** The refused fields of a 422. */
  readonly refused?: readonly string[]
  /** The types of the events that the request raises, sorted; default: none. */
  readonly events?: readonly EventType[]
  /** Keeps the id of the answer's record under this name. */
  readonly keep?: string
}

/** Runs the scenarios one after another, each on what the ones before have left. */
export async function runScenarios(
  t: TestContext,
  tenant: Tenant,
  world: Readonly<Record<string, number>>,
  scenarios: readonly Scenario[],
): Promise<void> {
  const { call, data } = tenant
  const ids: Record<string, number> = { ...world }
  // Events of an inactive endpoint are kept as held deliveries, and nothing is sent.
  const endpoint = { url: 'http://127.0.0.1:9/all', events: allEventTypes }
  const { id: watcher } = await data(201, 'POST', '/webhook-endpoints', { body: endpoint })
  await data(200, 'PATCH', `/webhook-endpoints/${watcher}`, { body: { active: false } })
  let lastDelivery = 0
  const raised = async () => {
    const deliveries = await data(200, 'GET', `/webhook-endpoints/${watcher}/deliveries`, { query: 'per_page=100' })
    const added = deliveries.filter(({ id }: { id: number }) => id > lastDelivery)
    lastDelivery = added[0]?.id ?? lastDelivery
    for (const { id } of added) {
      const { payload } = await data(200, 'GET', `/webhook-endpoints/${watcher}/deliveries/${id}`)
      const shape = eventData[payload.type as EventType]
      if (shape) assertShape(payload.data, shape)
    }
    return added.map((delivery: { event_type: EventType }) => delivery.event_type).sort()
  }
  for (const scenario of scenarios) {
    await t.test(`${scenario.request}: ${scenario.name}`, async () => {
      const role = scenario.role ?? roleOf(routeOf(scenario.request))
      const stranger = await send(call, scenario, ids, null)
      assert.equal(stranger.status, 401, stranger.what)
      for (const lower of roles.slice(0, roles.indexOf(role))) {
        const { status, what } = await send(call, scenario, ids, tenant[lower])
        assert.equal(status, 403, `${what} with the role ${lower}`)
      }
      const answer = await send(call, scenario, ids, tenant[role])
      assert.equal(answer.status, scenario.status, answer.what)
      if (answer.body?.data !== undefined) assertFields(answer, scenario)
      if (scenario.refused) assertInvalid(answer, ...scenario.refused)
      if (scenario.data !== undefined) assertContains(answer.body.data, withIds(scenario.data, ids), answer.what)
      if (scenario.keep) ids[scenario.keep] = answer.body.data.id
      assert.deepEqual(await raised(), scenario.events ?? [], 'the events raised')
    })
  }
}

/** Asserts that the records of the answer have exactly the fields of the route, and a listing those of its `meta`. */
function assertFields({ body, what }: Answer, { request, more = {} }: Scenario): void {
  const route = routeOf(request)
  for (const record of [body.data].flat()) {
    const shape = shapeOf(route, record)
    if (shape) assertShape(record, { ...shape, ...more })
    else assert.equal(route, 'GET /contacts/:/data', `http-answers.ts has no fields for ${what}`)
  }
  if (body.meta) assertShape(body.meta, route === 'GET /webhook-endpoints/:/deliveries' ? deliveriesMeta : meta)
}

/** Webhooks, events, tokens, settings and sending are for admins. */
const forAdmins: readonly RegExp[] = [
  /^\w+ \/(webhook-endpoints|deliveries|events|settings|audit-log|stats\/deliveries)\b/,
  /^(GET|POST) \/tokens$|^DELETE \/tokens\//,
  /^(POST|DELETE) \/email-identities/,
  /^POST \/newsletters\/:\/(test|send|pause|resume|cancel)$/,
  /^(POST|PUT|PATCH|DELETE) \/sequences(?!\/:\/preview)/,
]

/** Returns the lowest role that may use the route: a viewer reads, a member writes, an admin does everything. */
function roleOf(route: string): Role {
  if (forAdmins.some((pattern) => pattern.test(route))) return 'admin'
  return route.startsWith('GET ') ? 'viewer' : 'member'
}

const routeOf = (request: string) => request.replace(/:\w+/g, ':')

function send(
  call: Tenant['call'],
  scenario: Scenario,
  ids: Readonly<Record<string, number>>,
  token: string | null,
): Promise<Answer> {
  const { request, query = '', body, csv } = scenario
  const [method, path] = request.split(' ') as [string, string]
  const target = path.replace(/:\w+Id/g, (name) => String(idOf(name, ids)))
  const sent = body === undefined ? {} : { body: withIds(body, ids) }
  const file = csv === undefined ? {} : { raw: csv, headers: { 'content-type': 'text/csv' } }
  return call(method, target, {
    token,
    ...sent,
    ...file,
    query: query.replace(/:\w+Id/g, (name) => String(idOf(name, ids))),
  })
}

function idOf(name: string, ids: Readonly<Record<string, number>>): number {
  const id = ids[name.slice(1)]
  assert.ok(id !== undefined, `no scenario before keeps ${name}`)
  return id
}

/** Replaces each text `:name` by the id of that name. */
function withIds(value: unknown, ids: Readonly<Record<string, number>>): unknown {
  if (typeof value === 'string') return /^:\w+Id$/.test(value) ? idOf(value, ids) : value
  if (Array.isArray(value)) return value.map((item) => withIds(item, ids))
  if (typeof value !== 'object' || value === null || value instanceof RegExp) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withIds(item, ids)]))
}

/** Compares lists item by item, the named fields of records, and texts with patterns. */
function assertContains(actual: unknown, wanted: unknown, what: string): void {
  if (wanted instanceof RegExp) assert.match(String(actual), wanted, what)
  else if (Array.isArray(wanted)) {
    assert.ok(Array.isArray(actual) && actual.length === wanted.length, `${wanted.length} records wanted: ${what}`)
    for (const [at, item] of wanted.entries()) assertContains(actual[at], item, what)
  } else if (typeof wanted === 'object' && wanted !== null) {
    for (const [name, value] of Object.entries(wanted)) {
      assertContains((actual as Record<string, unknown>)?.[name], value, `${name} of ${what}`)
    }
  } else assert.deepEqual(actual, wanted, what)
}
