/** One record of every kind, and valid parameters and bodies for every route of the API. */
import assert from 'node:assert/strict'
import { routes } from '../../daemon/api/routes/index.ts'
import type { Tenant } from './harness.ts'
import { eventTypes } from './http-shapes.ts'

export { routes }
export type Route = (typeof routes)[number]

/** The ids of a client's records, by the names of path parameters. */
export type World = Readonly<Record<string, number>>

/** Creates one record of every kind for a client; the endpoint is inactive, so that nothing is sent. */
export async function openWorld({ client, data }: Tenant, name: string): Promise<World> {
  const { id: listId } = await data(201, 'POST', '/lists', { body: { name: `list of ${name}` } })
  const { id: topicId } = await data(201, 'POST', `/lists/${listId}/topics`, { body: { name: `topic of ${name}` } })
  const endpoint = { url: 'http://127.0.0.1:9/', events: eventTypes, description: `endpoint of ${name}` }
  const { id: endpointId } = await data(201, 'POST', '/webhook-endpoints', { body: endpoint })
  const nothing = { since: '2999-01-01T00:00:00Z' }
  const { id: recoveryId } = await data(202, 'POST', `/webhook-endpoints/${endpointId}/recover`, { body: nothing })
  await data(200, 'PATCH', `/webhook-endpoints/${endpointId}`, { body: { active: false } })
  const contact = { email: `${name}@example.org`, name: `contact of ${name}`, tags: [`tag of ${name}`] }
  const { id: contactId, tags } = await data(201, 'POST', `/lists/${listId}/contacts`, { body: contact })
  await data(200, 'PUT', `/contacts/${contactId}/topics/${topicId}`)
  const segment = { name: `segment of ${name}`, filters: { lists: [listId] } }
  const { id: segmentId } = await data(201, 'POST', '/segments', { body: segment })
  const news = { name: `newsletter of ${name}`, subject: 'News', html: '<a href="{{ unsubscribe_url }}">x</a>' }
  const { id: newsletterId } = await data(201, 'POST', '/newsletters', { body: news })
  const { id: sequenceId } = await data(201, 'POST', '/sequences', { body: { name: `sequence of ${name}` } })
  await data(201, 'POST', `/sequences/${sequenceId}/enrolments`, { body: { contact_id: contactId } })
  const { id: suppressionId } = await data(201, 'POST', '/suppressions', { body: { email: `never@${name}.example` } })
  const { id: emailIdentityId } = await client.identities.add({ email: `sender@${name}.example` })
  const [{ id: deliveryId }] = await data(200, 'GET', `/webhook-endpoints/${endpointId}/deliveries`)
  const { id: tokenId } = await client.tokens.create({ name: `token of ${name}`, role: 'viewer' })
  await client.contacts.upsert({ email: 'spare@example.org' }) // for the merge
  let importId = 0
  await client.contacts.import(listId, [], {
    format: 'csv',
    onStart: (id) => {
      importId = id
    },
  })
  return {
    tagId: tags[0].id,
    contactId,
    listId,
    topicId,
    segmentId,
    newsletterId,
    sequenceId,
    suppressionId,
    endpointId,
    emailIdentityId,
    deliveryId,
    recoveryId,
    tokenId,
    importId,
  }
}

/** Valid bodies by route; the other routes take none, or an empty one. */
const bodies: Readonly<Record<string, object>> = {
  'POST /tags': { name: 'new' },
  'PATCH /tags/:tagId': { name: 'new' },
  'POST /lists': { name: 'new' },
  'PATCH /lists/:listId': { name: 'new', double_opt_in: false },
  'POST /lists/:listId/topics': { name: 'new' },
  'PATCH /topics/:topicId': { name: 'new' },
  'POST /lists/:listId/contacts': { email: 'new@example.org', tags: ['new'] },
  'POST /contacts': { email: 'new@example.org', tags: ['new'] },
  'POST /contacts/:contactId/email': { email: 'other@example.org' },
  'POST /contacts/:contactId/tags': { tags: ['new'] },
  'DELETE /contacts/:contactId/tags': { tags: ['new'] },
  'POST /contacts/:contactId/merge': { into: { email: 'spare@example.org' } },
  'POST /contacts/batch': { operations: [{ op: 'upsert', email: 'new@example.org', tags: ['new'] }] },
  'PUT /contacts/:contactId': { name: 'new', tags: ['new'] },
  'POST /email-identities': { email: 'new@example.org', name: 'new' },
  'POST /suppressions': { email: 'never@example.org' },
  'POST /segments': { name: 'new', filters: {} },
  'PATCH /segments/:segmentId': { name: 'new' },
  'POST /newsletters': { name: 'new', subject: 'New', html: '<a href="{{ unsubscribe_url }}">x</a>' },
  'PATCH /newsletters/:newsletterId': { name: 'new' },
  'POST /newsletters/:newsletterId/preview': { contact_id: 1 },
  'POST /newsletters/:newsletterId/test': { emails: ['new@example.org'] },
  'POST /sequences': { name: 'new' },
  'PATCH /sequences/:sequenceId': { name: 'new' },
  'POST /sequences/:sequenceId/resume': { uncertain: 'skip' },
  'PUT /sequences/:sequenceId/steps': { steps: [] },
  'POST /sequences/:sequenceId/preview': {
    ...{ contact_id: 1, subject: 'New', html: '<a href="{{ unsubscribe_url }}">x</a>' },
  },
  'POST /sequences/:sequenceId/enrolments': { contact_id: 1 },
  'PUT /settings/attributes': { indexed: ['company'] },
  'PUT /settings/pages': { name: 'new' },
  'POST /webhook-endpoints': { url: 'http://127.0.0.1:9/', events: eventTypes },
  'PATCH /webhook-endpoints/:endpointId': { description: 'new', active: true },
  'POST /webhook-endpoints/:endpointId/recover': { since: '2020-01-01T00:00:00Z' },
  'POST /portal-links': { role: 'webhooks' },
  'POST /tokens': { name: 'new', role: 'viewer' },
  'POST /events': { type: 'newsletter.sent', data: {} },
  'POST /events/batch': { events: [{ type: 'newsletter.sent', data: {} }] },
}

export const titleOf = ({ method, path }: Route) => `${method} ${path}`

export function bodyOf(route: Route): object | undefined {
  return bodies[titleOf(route)] ?? (route.method === 'PUT' || route.method === 'PATCH' ? {} : undefined)
}

export const paramsOf = ({ path }: Pick<Route, 'path'>) => [...path.matchAll(/:(\w+)/g)].map(([, name]) => name!)

/** Inserts these ids into the path. */
export function pathTo({ path }: Pick<Route, 'path'>, ids: World): string {
  return path.replace(/:(\w+)/g, (_, name: string) => {
    assert.ok(name in ids, `http-world.ts makes no record for :${name}`)
    return String(ids[name])
  })
}

/** Removes the time of the last use, which reading changes. */
function withoutUse(tokens: Record<string, unknown> | readonly Record<string, unknown>[]): object[] {
  return [tokens].flat().map(({ last_used_at: _, ...token }) => token)
}

const hourMs = 3_600_000
/** A range of statistics that stays the same when an hour ends during a test. */
const range = {
  from: new Date(Date.now() - 24 * hourMs).toISOString(),
  to: new Date(Date.now() + 24 * hourMs).toISOString(),
  step: 'hour',
}

/** Returns everything that a client can read: every listing and every record, by path. */
export async function viewOf({ call }: Tenant, world: World): Promise<Record<string, unknown>> {
  const view: Record<string, unknown> = {}
  for (const route of routes.filter(
    ({ method, path }) => method === 'GET' && paramsOf({ path }).every((name) => name in world),
  )) {
    const path = pathTo(route, world)
    const contacts = /^\/contacts(\/export)?$/.test(path) ? { include_unsubscribed: 1 } : ''
    const query = path.startsWith('/stats/') ? range : contacts
    const { status, body, text } = await call('GET', path, { query })
    view[path] = [status, path.startsWith('/tokens') ? withoutUse(body.data) : (body?.data ?? text)]
  }
  return view
}
