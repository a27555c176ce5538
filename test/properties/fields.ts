/** Generates valid bodies of a route, and bodies with small faults. */
import fc from 'fast-check'
import type { Route } from '../../daemon/api/routes/route.ts'
import { inputFields } from '../../lib/contacts/schema.ts'
import { eventTypes } from '../support/http-shapes.ts'
import { titleOf } from '../support/http-world.ts'

type Fields = Readonly<Record<string, fc.Arbitrary<unknown>>>

/** Text that is valid as any name. */
const name = fc.oneof(
  fc.constantFrom(
    'a',
    'A',
    'News',
    'É',
    '😀',
    "'; --",
    '%',
    '__proto__',
    'x'.repeat(255),
    '\u202e',
    '-',
    '\u00ad',
    '0',
  ),
  fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
    .map((text) => `${text}.`)
    .filter(isHarmless),
)
const text = fc.oneof(
  name,
  fc.constant(''),
  fc.string({ unit: 'grapheme', maxLength: 40 }).filter(isHarmless),
  fc.constant('y'.repeat(1000)),
)

function isHarmless(value: string): boolean {
  return value.isWellFormed() && !value.includes('\0')
}

/** An event of the host. */
const event = {
  type: fc.constantFrom('newsletter.sent', 'sequence_step.sent', 'sequence.completed'),
  data: fc.dictionary(name, fc.oneof(text, fc.boolean(), fc.maxSafeInteger())),
}

const email = fc
  .tuple(
    fc.constantFrom('ada', 'ADA', 'b', 'c.d', 'e+f', 'ünal'),
    fc.constantFrom('example.org', 'EXAMPLE.org', 'x.co'),
  )
  .map(([local, domain]) => `${local}@${domain}`)

/** An attribute's name; names of fields with their own rules are excluded. */
const attribute = fc
  .oneof(fc.constantFrom('company', '__proto__', 'constructor', 'toString', 'a b', '0', 'é', 'id'), name)
  .filter((key) => !inputFields.has(key))
const attributes = fc
  .array(fc.tuple(attribute, fc.option(text)), { maxLength: 3 })
  .map((pairs) => Object.fromEntries(pairs) as Record<string, unknown>)
const tags = fc.array(name, { maxLength: 4 })
const someTags = fc.array(name, { minLength: 1, maxLength: 4 })

const filters = fc.record(
  {
    lists: fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 3 }),
    exclude_tags: fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 3 }),
    search: text,
    created_after: fc.constantFrom('2020-01-01T00:00:00Z', '2030-01-01T00:00:00.5+02:00'),
  },
  { requiredKeys: [] },
)

const line = fc.constantFrom('News', 'News for {{ contact.name }}', 'ł{')
/** Html and text without the link are refused. */
const linked = text.map((words) => `${words}{{ unsubscribe_url }}`)
const audience = fc.record({ tags: fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 3 }) }, { requiredKeys: [] })
const step = fc.record({
  delay_seconds: fc.integer({ min: 0, max: 86_400 }),
  subject: fc.constant('News'),
  html: fc.constant('<a href="{{ unsubscribe_url }}">x</a>'),
})

/** Required fields first; `optional` fields may be left out. */
const known: Readonly<Record<string, readonly [required: Fields, optional: Fields, more?: fc.Arbitrary<object>]>> = {
  'POST /tags': [{ name }, {}],
  'PATCH /tags/:tagId': [{ name }, {}],
  'POST /lists': [{ name }, {}],
  'PATCH /lists/:listId': [{ name }, { double_opt_in: fc.constant(false) }],
  'POST /lists/:listId/topics': [{ name }, { description: fc.option(text) }],
  'PATCH /topics/:topicId': [{}, { name, description: fc.option(text) }],
  'POST /lists/:listId/contacts': [{ email }, { name: text.map(cut), tags }, attributes],
  'PUT /contacts/:contactId': [{}, { name: text.map(cut), tags }, attributes],
  'POST /contacts': [{ email }, { name: text.map(cut), tags }, attributes],
  'POST /suppressions': [{ email }, {}],
  'POST /contacts/:contactId/email': [{ email }, {}],
  'POST /contacts/:contactId/tags': [{ tags: someTags }, {}],
  'DELETE /contacts/:contactId/tags': [{ tags: someTags }, {}],
  'POST /contacts/:contactId/merge': [{ into: fc.integer({ min: 1, max: 9 }) }, {}],
  'POST /contacts/batch': [
    {
      operations: fc.array(
        fc.oneof(
          fc.record({ op: fc.constant('upsert'), email, name: text.map(cut), tags }),
          fc.record({ op: fc.constantFrom('unsubscribe', 'resubscribe', 'delete'), email }),
          fc.record({ op: fc.constantFrom('tag', 'untag'), id: fc.integer({ min: 1, max: 9 }), tags: someTags }),
        ),
        { minLength: 1, maxLength: 4 },
      ),
    },
    {},
  ],
  'POST /tokens': [
    { name, role: fc.constantFrom('viewer', 'member', 'admin') },
    { expires_in: fc.integer({ min: 60, max: 86_400 }) },
  ],
  'POST /email-identities': [{ email }, { name }],
  'POST /portal-links': [{ role: fc.constant('webhooks') }, { expires_in: fc.integer({ min: 60, max: 86_400 }) }],
  'POST /segments': [{ name, filters }, {}],
  'PATCH /segments/:segmentId': [{}, { name, filters }],
  'POST /newsletters': [
    { subject: line, html: linked },
    { name, preheader: fc.option(line), text: fc.option(linked), audience, from_identity_id: fc.constant(null) },
  ],
  'PATCH /newsletters/:newsletterId': [{}, { name, subject: line, html: linked, reply_to: fc.option(email), audience }],
  'POST /newsletters/:newsletterId/preview': [
    { contact_id: fc.integer({ min: 1, max: 9 }) },
    { subject: line, preheader: fc.option(line), html: linked, text: fc.option(linked) },
  ],
  'POST /newsletters/:newsletterId/test': [{ emails: fc.array(email, { minLength: 1, maxLength: 3 }) }, {}],
  'POST /newsletters/:newsletterId/send': [{}, { at: fc.constantFrom('2999-01-01T00:00:00Z') }],
  'POST /newsletters/:newsletterId/resume': [{}, { uncertain: fc.constantFrom('skip', 'resend') }],
  'POST /sequences': [{ name }, { list_id: fc.constant(null), status: fc.constantFrom('active', 'paused') }],
  'PATCH /sequences/:sequenceId': [
    {},
    { name, status: fc.constantFrom('active', 'paused'), reply_to: fc.option(email) },
  ],
  'POST /sequences/:sequenceId/resume': [{}, { uncertain: fc.constantFrom('skip', 'resend') }],
  'PUT /sequences/:sequenceId/steps': [{ steps: fc.array(step, { maxLength: 2 }) }, {}],
  'POST /sequences/:sequenceId/preview': [
    { contact_id: fc.integer({ min: 1, max: 9 }), subject: line, html: text },
    { preheader: fc.option(line), text: fc.option(text) },
  ],
  'POST /sequences/:sequenceId/enrolments': [{ contact_id: fc.integer({ min: 1, max: 9 }) }, {}],
  'PUT /settings/attributes': [{ indexed: fc.array(name, { maxLength: 3 }) }, {}],
  'PUT /settings/pages': [
    {},
    {
      name: fc.option(name),
      colour: fc.constantFrom(null, '#000000', '#FFaa01'),
      logo_url: fc.constantFrom(null, 'https://example.com/logo.png'),
      language: fc.constantFrom(null, 'en', 'de', 'fr', 'es'),
      texts: fc.constantFrom({}, { unsubscribe_title: 'Leave', unsubscribe_text: '' }),
      postal_address: fc.constantFrom(null, 'Acme Ltd, London'),
    },
  ],
  'POST /webhook-endpoints': [
    {
      url: fc.constantFrom('http://127.0.0.1:9/', 'https://example.com/hook', 'https://example.com:8443/?a=b'),
      events: fc.array(fc.constantFrom(...eventTypes), { minLength: 1, maxLength: 4 }),
    },
    { description: text },
  ],
  'POST /webhook-endpoints/:endpointId/secret': [{}, { overlap_hours: fc.integer({ min: 0, max: 72 }) }],
  'PATCH /webhook-endpoints/:endpointId': [{}, { active: fc.boolean(), description: text }],
  'POST /webhook-endpoints/:endpointId/recover': [
    { since: fc.constantFrom('2020-01-01T00:00:00Z', '2030-01-01T00:00:00.5+02:00') },
    {},
  ],
  'POST /events': [event, {}],
  'POST /events/batch': [{ events: fc.array(fc.record(event), { maxLength: 4 }) }, {}],
}

/** Cuts a contact's name to its maximum of 255 characters. */
function cut(value: string): string {
  return [...value].slice(0, 255).join('')
}

/** Any JSON value, and some values that are not JSON. */
export const junkJson = fc.oneof(
  fc.constantFrom<unknown>(null, true, 0, -1, 1.5, 1e308, '', '\0', '\ud800', [], {}, [[]], 'x'.repeat(20_000)),
  fc.constantFrom<unknown>(
    'javascript:1',
    'http://169.254.169.254/',
    'https://user@example.com/',
    2 ** 53,
    '9'.repeat(400),
  ),
  fc.constantFrom<unknown>(
    Array(1001).fill('a'),
    [null],
    ['\0'],
    [''],
    { a: { b: [] } },
    '2026-13-45T99:99:99Z',
    'a@b',
  ),
  fc.jsonValue({ maxDepth: 2 }),
)

const anyName = fc.oneof(
  fc.constantFrom('email', 'name', 'tags', 'url', 'events', 'description', 'active', 'since', 'type', 'data', 'secret'),
  fc.constantFrom('__proto__', 'constructor', '', '\0', '\ud800', 'x'.repeat(256), 'id', 'tags.0'),
)

/** One or two changes to a valid body. */
const changes = fc.array(fc.tuple(anyName, fc.option(junkJson, { nil: undefined, freq: 4 })), { maxLength: 2 })

/** Generates a body for this route: `{ kind: 'fields', fields, valid }`. */
export function fieldsFor(route: Route): fc.Arbitrary<object> {
  const [required, optional, more] = known[titleOf(route)] ?? [{}, {}]
  const good = fc.tuple(
    fc.record({ ...required, ...optional }, { requiredKeys: Object.keys(required) }),
    more ?? fc.constant({}),
  )
  return fc
    .tuple(good, fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, changes))
    .map(([[fields, extra], changed]) => ({
      kind: 'fields',
      valid: changed.length === 0,
      fields: withChanges({ ...extra, ...fields }, changed as [string, unknown][]),
    }))
}

/** Uses Object.fromEntries, since assigning to __proto__ would not create a field. */
function withChanges(fields: object, changed: readonly (readonly [string, unknown])[]): object {
  const entries = new Map<string, unknown>(Object.entries(fields))
  for (const [field, value] of changed) {
    if (value === undefined) entries.delete(field)
    else entries.set(field, value)
  }
  return Object.fromEntries(entries)
}
