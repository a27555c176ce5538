/** The short form of what `npm run test:properties` tries at length. */
import { describe, test } from 'node:test'
import { hasPostgres } from './databases.ts'
import { check } from './properties/checking.ts'
import { subjects } from './properties/subjects.ts'

const promises: Readonly<Record<string, string>> = {
  http: 'random requests get no 5xx, no answer outside its documented shape, and no silence',
  library: 'random operations leave what a plain model says, page by page and event by event',
}

describe('properties', () => {
  for (const { name, open, briefly, needsPostgres } of subjects) {
    const [what = '', database] = name.split('-')
    const skip = needsPostgres && !hasPostgres ? 'there is no PostgreSQL' : false
    test(`${promises[what]}, on ${database}`, { skip }, async (t) => {
      await check(name, await open(), { runs: briefly }, (line) => t.diagnostic(line))
    })
  }
})
