/** An export is a complete way back: imported into an empty client, it gives the same contacts. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { ClientMailkeep, Contact } from '../../lib/index.ts'
import { test } from '../support/databases.ts'
import { onEveryDatabase } from '../support/webhook-harness.ts'

/** Everything that an export restores, without ids. */
async function contactsOf(client: ClientMailkeep): Promise<unknown[]> {
  const shown: ReturnType<typeof withoutIds>[] = []
  for await (const contact of client.contacts.iterate({ include_unsubscribed: true })) shown.push(withoutIds(contact))
  return shown.sort((a, b) => (a.email < b.email ? -1 : 1)) // PostgreSQL gives the ids of a batch in this order
}

function withoutIds({ id: _, uuid: __, tags, lists, topics, extra_attributes, ...contact }: Contact) {
  const names = (records: readonly { name: string }[]) => records.map(({ name }) => name).sort()
  const listNames = new Map(lists.map((list) => [list.id, list.name]))
  return {
    ...contact,
    extra_attributes: Object.entries(extra_attributes),
    tags: names(tags),
    lists: names(lists),
    topics: topics.map(({ list_id, name }) => `${listNames.get(list_id)}: ${name}`).sort(),
  }
}

const special = fc.constantFrom(
  '=1+1',
  "'=x",
  "''+",
  '-5',
  '@home',
  '\tx',
  "'",
  'a;b',
  'a,b',
  '[x]',
  '"q"',
  'two\r\nlines',
  '',
)
const text = fc
  .oneof(special, fc.string({ unit: 'grapheme', maxLength: 8 }))
  .filter((value) => value.isWellFormed() && !value.includes('\0'))
const name = text
  .map((value) => `${value}.`)
  .filter((value) => value.trim() === value && value.normalize('NFC') === value)

const people = fc.uniqueArray(
  fc.record({
    local: fc.stringMatching(/^[a-z+=-]{1,6}$/),
    name: text,
    tags: fc.array(name, { maxLength: 3 }),
    attributes: fc.array(fc.tuple(fc.constantFrom('city', '__proto__', 'status', 'lists', 'a b'), text), {
      maxLength: 3,
    }),
    lists: fc.subarray([0, 1, 2]),
    hasTopics: fc.boolean(),
    isGone: fc.option(fc.boolean()),
  }),
  { selector: ({ local }) => local, minLength: 1, maxLength: 6 },
)

onEveryDatabase('exports', (open) => {
  test('imported into an empty client give the same contacts, with lists, topics and subscriptions', async (t) => {
    const { mailkeep } = await open(t)
    const check = fc.asyncProperty(people, fc.constantFrom('csv' as const, 'ndjson' as const), async (all, format) => {
      const [from, to] = await Promise.all(
        ['from', 'to'].map(async (each) => mailkeep.forClient((await mailkeep.clients.create({ name: each })).id)),
      )
      const lists = []
      for (const each of ['News', 'a;b', '=List']) {
        const list = await from!.lists.create({ name: each })
        lists.push({ list, topic: await from!.topics.create(list.id, { name: 'Weekly' }) })
      }
      for (const { local, attributes, lists: on, hasTopics, isGone, ...person } of all) {
        const email = `${local}@example.org`
        await from!.contacts.upsert({ ...Object.fromEntries(attributes), ...person, email })
        for (const at of on) {
          await from!.contacts.addToList(lists[at]!.list.id, { email })
          if (hasTopics) await from!.contacts.subscribeToTopic({ email }, lists[at]!.topic.id)
        }
        if (isGone !== null) await from!.contacts.unsubscribe({ email }, { byContact: isGone })
      }
      const file = from!.contacts.export({ format, include_unsubscribed: true })
      const report = await to!.contacts.import(null, file, { format })
      assert.deepEqual(report, { total: all.length, created: all.length, updated: 0, refused: 0, refused_rows: [] })
      const before = await contactsOf(from!)
      assert.deepEqual(await contactsOf(to!), before)
      // Repeating it changes nothing.
      await to!.contacts.import(null, from!.contacts.export({ format, include_unsubscribed: true }), { format })
      assert.deepEqual(await contactsOf(to!), before)
    })
    await fc.assert(check, { numRuns: 15 })
  })
})
