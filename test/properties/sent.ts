/** Generates requests close to valid ones, as data. Ids are chosen only when a request is sent. */
import fc from 'fast-check'
import { routes } from '../../daemon/api/routes/index.ts'
import { fieldsFor, junkJson } from './fields.ts'

export interface Sent {
  /** An index into the routes. */
  readonly route: number
  /** For each id in the path: an index into the known ids, or an arbitrary text. */
  readonly ids: readonly (number | string)[]
  /** How the path is changed after its ids were inserted. */
  readonly path: 'plain' | 'encoded' | 'absolute' | 'trailing' | 'doubled' | 'upper' | 'longer' | 'v2' | 'junk'
  readonly junkPath: string
  /** undefined: the route's own method. */
  readonly method: string | undefined
  readonly token: 'admin' | 'member' | 'stranger' | 'none' | 'unknown' | 'twice' | 'basic'
  readonly query: string
  readonly body: SentBody
  readonly framing: 'length' | 'chunks' | 'continue' | 'short'
  readonly contentType: string | undefined
  readonly requestId: string | undefined
  /**
   * Header lines that are sent unchanged; `Long: 8` is expanded to that many characters, `Many: 8` to that many lines.
   */
  readonly lines: readonly string[]
  readonly host: readonly string[]
}

type SentBody =
  | { readonly kind: 'none' }
  /** `valid`: the fields break none of the route's rules. */
  | { readonly kind: 'fields'; readonly fields: unknown; readonly valid: boolean }
  | { readonly kind: 'bytes'; readonly bytes: string }
  | { readonly kind: 'large'; readonly megabytes: number }

const rarely = <T>(usual: T, ...others: fc.Arbitrary<T>[]) =>
  fc.oneof({ weight: 12 * others.length, arbitrary: fc.constant(usual) }, ...others)

const ids = fc.oneof(
  { weight: 8, arbitrary: fc.nat(7) },
  fc.constantFrom('0', '-1', '01', '1.0', '1e3', '9007199254740991', '9007199254740992', '99999999999999999999', 'x'),
  fc.constantFrom('%00', '%', '%zz', '%E0%A4%A', "1'", '1;drop', '..', '%2F', '%31', '', '１', 'null', '2147483648'),
)

const words = fc.string({ unit: 'binary', maxLength: 8 }).map(encodeURIComponentSafely)

/** An unpaired surrogate cannot be encoded. */
function encodeURIComponentSafely(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}

const values = fc.oneof(
  fc.constantFrom('1', '0', 'true', 'false', '25', '100', '101', '-1', '', 'ada', '%', '_', '\\', '"', "'", '*'),
  fc.constantFrom('bmV4dDox', 'bmV4dDow', 'cHJldjo5', 'bmV4dDotMQ', 'verified', 'pending', '9007199254740993'),
  words,
)
const parameters = fc.oneof(
  fc.constantFrom('per_page', 'cursor', 'search', 'include_unsubscribed', 'identity_status'),
  fc.constantFrom('lists[]', 'tags[]', 'topics[]', 'lists', 'lists[0]', 'tags%5B%5D', 'topics[x]', 'lists[][]'),
  fc.constantFrom('__proto__', '__proto__[x]', 'constructor', 'search[]', 'per_page[]', '', '[]', '[', 'a[b][c]'),
)
const query = fc.oneof(
  { weight: 6, arbitrary: fc.constant('') },
  {
    weight: 4,
    arbitrary: fc
      .array(fc.tuple(parameters, values), { maxLength: 4 })
      .map((pairs) => pairs.map(([name, value]) => `${name}=${encodePercent(value)}`).join('&')),
  },
  words,
  fc.constantFrom('&', '=', '??', '%', '%zz=%zz', 'lists[]=1&'.repeat(101), 'a&'.repeat(600), '%00', 'search=%FF%FE'),
)

/** A space or a line break would end the target; a bare % may stay. */
function encodePercent(text: string): string {
  return text.replace(/[^\x21-\x7e]|#/g, encodeURIComponentSafely)
}

const lines = fc.array(
  fc.oneof(
    fc.constantFrom('Accept: text/html', 'Accept: */*', 'Accept:', 'Accept-Encoding: gzip', 'X-Forwarded-Host: evil'),
    fc.constantFrom('Upgrade: websocket', 'Connection: close', 'Connection: keep-alive', 'Expect: miracles'),
    fc.constantFrom('Content-Encoding: gzip', 'Content-Encoding: identity', 'Range: bytes=0-1', 'If-None-Match: *'),
    fc.constantFrom('X-HTTP-Method-Override: DELETE', 'Cookie: a=b', 'Origin: null', 'Idempotency-Key: a'),
    fc.constantFrom('No colon', 'Bad\u0001: a', 'A: \u0000', ' folded', 'Sp ace: a', ': empty', 'A: \u00ff'),
    fc.constantFrom('Long: 8000', 'Long: 17000', 'Many: 1500'),
  ),
  { maxLength: 2 },
)

const methods = fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY', 'get')
const contentTypes = fc.constantFrom(
  undefined,
  '',
  'text/plain',
  'application/x-www-form-urlencoded',
  'application/jsonp',
  'application/json;charset=latin1',
  'Application/JSON; Charset="UTF-8"',
  'application/json; boundary=x',
  'multipart/form-data; boundary=x',
  '/',
)

const bytes = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.constantFrom(
    '{',
    '}',
    '[]',
    'null',
    '1',
    '"a"',
    '{"name":"a"',
    '{"name":"\\ud800"}',
    '{"name":1e999}',
    '\ufeff{}',
  ),
  fc.constantFrom(
    '{"__proto__":{"x":1}}',
    '{"a":1,"a":2}',
    'latin1:\xff\xfe',
    'latin1:{"name":"\xff"}',
    'latin1:{"email":"\xc3@x.co"}',
    '[[[[',
    `${'['.repeat(5000)}`,
    ' ',
    '{} {}',
  ),
  junkJson.map((value) => JSON.stringify(value)),
)

const fileTypes = fc.constantFrom('application/x-ndjson', 'text/csv', 'text/csv; charset=utf-8; header=present')

/** Files without a valid row, because the answer of an import does not show the ids of contacts it creates. */
const files = fc
  .array(
    fc.oneof(
      fc.constantFrom('email', 'email,name,tags', 'name', 'email,email', '{}', '{"email":"a"}', '', '\r', '"', '"a"b'),
      fc.constantFrom('a,b,c', 'x', '{"email":["a@x.co"]}', '\ufeff', ',,', '{"extra_attributes":1}', 'latin1:\xff'),
      fc.string({ unit: 'binary', maxLength: 8 }),
    ),
    { maxLength: 6 },
  )
  .map((lines): SentBody => ({ kind: 'bytes', bytes: lines.join('\n') }))

/** A valid request of one route, with one or two changes. */
export const sent: fc.Arbitrary<Sent> = fc.nat(routes.length - 1).chain((route) =>
  fc.record({
    route: fc.constant(route),
    ids: fc.array(ids, { minLength: 2, maxLength: 2 }),
    path: rarely<Sent['path']>(
      'plain',
      fc.constantFrom('encoded', 'absolute', 'trailing', 'doubled', 'upper', 'longer', 'v2', 'junk'),
    ),
    junkPath: fc.webPath(),
    method: rarely<string | undefined>(undefined, methods),
    token: rarely<Sent['token']>(
      'admin',
      fc.constantFrom('member', 'stranger', 'none', 'unknown', 'twice', 'basic'),
      fc.constant('member'),
    ),
    query,
    body: fc.oneof(
      {
        weight: 10,
        arbitrary: routes[route]!.body === 'file' ? files : (fieldsFor(routes[route]!) as fc.Arbitrary<SentBody>),
      },
      bytes.map((text): SentBody => ({ kind: 'bytes', bytes: text })),
      { weight: 1, arbitrary: fc.constant<SentBody>({ kind: 'none' }) },
    ),
    framing: rarely<Sent['framing']>('length', fc.constantFrom('chunks', 'continue', 'short')),
    contentType:
      routes[route]!.body === 'file'
        ? fc.oneof({ weight: 6, arbitrary: fileTypes as fc.Arbitrary<string | undefined> }, contentTypes)
        : rarely<string | undefined>('application/json', contentTypes),
    requestId: rarely<string | undefined>(
      undefined,
      fc.oneof(fc.constantFrom('abc-1', 'a b', '', 'é', 'x'.repeat(200))),
    ),
    lines: rarely<readonly string[]>([], lines),
    host: rarely<readonly string[]>(
      ['mail.example'],
      fc.constantFrom<readonly string[]>([], ['a', 'b'], [''], ['a,b'], ['ev il'], ['[::1]:80'], ['x/y'], ['é']),
    ),
  }),
)

/** Requests with a key, some of them repeated. */
const repeated = fc
  .tuple(sent, fc.constantFrom('k', 'l', 'no key', ''))
  .map(([one, key]) => ({ ...one, lines: [`Idempotency-Key: ${key}`] }))
  .map((one) => [one, one])

/** The requests of one client, in order. */
export const session = fc
  .array(fc.oneof({ weight: 8, arbitrary: sent.map((one) => [one]) }, repeated), {
    minLength: 1,
    maxLength: 6,
    size: 'max',
  })
  .map((sendings) => sendings.flat())
