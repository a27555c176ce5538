/** Random steps of a host, as data. The record is chosen only when a step runs. */
import fc from 'fast-check'

/** An index into all records of a kind that ever existed, including deleted ones and another client's. */
export type Place = number

export interface FiltersSent {
  readonly lists?: readonly Place[] | undefined
  readonly tags?: readonly Place[] | undefined
  readonly topics?: readonly Place[] | undefined
  readonly search?: string | undefined
  readonly include_unsubscribed?: boolean | undefined
}

export interface Profile {
  readonly name?: string | undefined
  readonly tags?: readonly string[] | undefined
  readonly attributes: Readonly<Record<string, string | null>>
}

export interface Newcomer extends Profile {
  readonly email: string
}

export type Listed = 'contacts' | 'tags' | 'lists' | 'topics' | 'deliveries'

export type Step =
  | { readonly do: 'make'; readonly kind: 'tag' | 'list'; readonly name: string }
  | { readonly do: 'rename'; readonly kind: 'tag' | 'list'; readonly at: Place; readonly name: string }
  | { readonly do: 'delete'; readonly kind: 'tag' | 'list' | 'topic' | 'contact'; readonly at: Place }
  | { readonly do: 'make topic'; readonly list: Place; readonly name: string; readonly description: string | null }
  | { readonly do: 'change topic'; readonly at: Place; readonly name: string }
  | ({ readonly do: 'add'; readonly list: Place; readonly email: string } & Profile)
  | {
      readonly do: 'add many'
      readonly list: Place
      readonly people: readonly (Newcomer | { readonly wrong: unknown })[]
    }
  | ({ readonly do: 'update'; readonly at: Place } & Profile)
  | { readonly do: 'unsubscribe'; readonly at: Place; readonly byContact: boolean }
  | { readonly do: 'resubscribe'; readonly at: Place }
  | { readonly do: 'leave'; readonly at: Place; readonly list: Place }
  | { readonly do: 'follow' | 'unfollow'; readonly at: Place; readonly topic: Place }
  | { readonly do: 'raise'; readonly data: Readonly<Record<string, unknown>> }
  | {
      readonly do: 'walk'
      readonly of: Listed
      readonly list: Place
      readonly filters: FiltersSent
      readonly size: number
    }
  | { readonly do: 'turn'; readonly walk: number; readonly back: boolean }
  /** Deletes the next row of a paged listing, or all remaining rows. */
  | { readonly do: 'cut'; readonly walk: number; readonly back: boolean; readonly all: boolean }
  | { readonly do: 'err'; readonly at: Place; readonly input: unknown }

const place = fc.nat(9)
/** Few names, so that they repeat; some differ only in case. */
const tagName = fc.constantFrom(
  'vip',
  'VIP',
  'new',
  'É',
  'e\u0301',
  'é',
  'ß',
  'ẞ',
  'İ',
  'i',
  'Σ',
  'ς',
  '%',
  '__proto__',
  ' vip ',
)
const listName = fc.constantFrom('News', 'Offers', "O'Neil", '😀', '"')
const email = fc.constantFrom(
  ...[
    'ada@example.org',
    'ADA@Example.org',
    'bo@example.org',
    'cy@x.co',
    'dee_1@x.co',
    'e%f@x.co',
    'ÜN@x.co',
    'ün@x.co',
  ],
  ...['g@x.co', 'h@x.co', 'i@x.co', 'j@x.co', 'k@x.co', 'l@x.co'],
)
const contactName = fc.constantFrom(
  '',
  'Ada',
  'ADA L.',
  'Bo_b',
  '100 %',
  'Élise',
  'E\u0301lise',
  'a\nb',
  'İpek',
  '\\',
  'x'.repeat(255),
)
const search = fc.constantFrom(
  '',
  'ada',
  'A',
  '%',
  '_',
  '\\',
  'é',
  'x.co',
  '@',
  'ü',
  'o',
  'a\nb',
  'no such',
  'i',
  '0 %',
  'exam',
  "'",
)
const attributes = fc.dictionary(
  fc.constantFrom('company', 'city', '__proto__', 'constructor', 'toString', '0'),
  fc.option(fc.constantFrom('', 'Zürich', 'null', '😀', '{}')),
  { maxKeys: 3 },
)
const profile = {
  name: fc.option(contactName, { nil: undefined }),
  tags: fc.option(fc.array(tagName, { maxLength: 3 }), { nil: undefined }),
  attributes,
}
/** Few filters at a time, because many would match no contact. */
const places = fc.oneof(
  { weight: 4, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.array(place, { minLength: 1, maxLength: 3 }) },
)
const filters = fc.record({
  lists: places,
  tags: places,
  topics: places,
  search: fc.option(search, { nil: undefined, freq: 2 }),
  include_unsubscribed: fc.option(fc.boolean(), { nil: undefined }),
})
/** Values that are not valid for a contact. */
const wrong = fc.constantFrom<unknown>(
  ...[null, [], 'a', 7, {}, { email: 7 }, { email: 'a' }, { email: 'a@b' }, { email: 'a@x.co', name: 7 }],
  ...[
    { email: 'a@x.co', tags: 'vip' },
    { email: 'a@x.co', tags: [''] },
    { email: 'a@x.co', age: 7 },
  ],
  ...[
    { email: 'a@x.co', name: '\0' },
    { email: 'a@x.co', name: 'x'.repeat(256) },
    { email: 'a@x.co', city: '\ud800' },
  ],
)

const newcomer = fc.oneof(
  { weight: 6, arbitrary: fc.record({ email, ...profile }) },
  { weight: 1, arbitrary: fc.record({ wrong }) },
)

const as = <const D extends string, T>(name: D, fields: { [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  fc.record({ do: fc.constant(name), ...fields } as never) as unknown as fc.Arbitrary<Step>

const weighted = (weight: number, arbitrary: fc.Arbitrary<Step>) => ({ weight, arbitrary })

export const step: fc.Arbitrary<Step> = fc.oneof(
  weighted(2, as('make', { kind: fc.constant('tag'), name: tagName })),
  weighted(2, as('make', { kind: fc.constant('list'), name: listName })),
  weighted(1, as('rename', { kind: fc.constant('tag'), at: place, name: tagName })),
  weighted(1, as('rename', { kind: fc.constant('list'), at: place, name: listName })),
  weighted(1, as('delete', { kind: fc.constantFrom('tag', 'list', 'topic'), at: place })),
  weighted(3, as('delete', { kind: fc.constant('contact'), at: place })),
  weighted(2, as('make topic', { list: place, name: listName, description: fc.option(listName) })),
  weighted(1, as('change topic', { at: place, name: listName })),
  weighted(10, as('add', { list: place, email, ...profile })),
  weighted(4, as('add many', { list: place, people: fc.array(newcomer, { maxLength: 6 }) })),
  weighted(4, as('update', { at: place, ...profile })),
  weighted(3, as('unsubscribe', { at: place, byContact: fc.boolean() })),
  weighted(2, as('resubscribe', { at: place })),
  weighted(2, as('leave', { at: place, list: place })),
  weighted(4, as('follow', { at: place, topic: place })),
  weighted(1, as('unfollow', { at: place, topic: place })),
  weighted(1, as('raise', { data: fc.dictionary(contactName, fc.oneof(contactName, fc.integer()), { maxKeys: 2 }) })),
  weighted(
    6,
    as('walk', {
      of: fc.constantFrom('contacts', 'contacts', 'contacts', 'tags', 'lists', 'topics', 'deliveries'),
      list: place,
      filters,
      size: fc.integer({ min: 1, max: 3 }),
    }),
  ),
  weighted(10, as('turn', { walk: place, back: fc.boolean() })),
  weighted(2, as('cut', { walk: place, back: fc.boolean(), all: fc.boolean() })),
  weighted(1, as('err', { at: place, input: wrong })),
)

const member = (list: Place, email: string, name: string, tags: string[]): Step => {
  return { do: 'add', list, email, name, tags, attributes: {} }
}

/** The first steps of every run, so that there are records to list, change and delete. */
export const beginning: readonly Step[] = [
  { do: 'make', kind: 'list', name: 'News' },
  { do: 'make', kind: 'list', name: 'Offers' },
  { do: 'make topic', list: 0, name: 'Sport', description: null },
  { do: 'make topic', list: 0, name: 'Weather', description: '' },
  { do: 'make topic', list: 1, name: 'Wine', description: null },
  member(0, 'ada@example.org', 'Ada', ['vip', 'new']),
  member(0, 'ün@x.co', 'E\u0301lise', ['vip']),
  member(1, 'bo@example.org', 'Bo_b', ['É']),
  member(1, 'cy@x.co', '100 %', []),
  { do: 'follow', at: 0, topic: 0 },
  { do: 'walk', of: 'contacts', list: 0, filters: { include_unsubscribed: true }, size: 2 },
]

export const life = fc.array(step, { minLength: 1, maxLength: 40, size: 'max' })
