/** The short version of `npm run test:properties`. */
import { describe, test } from 'node:test'
import { hasPostgres } from '../support/databases.ts'
import { check } from './checking.ts'
import { subjects } from './subjects.ts'

const promises: Readonly<Record<string, string>> = {
  http: 'every random request gets an answer in its documented shape, and no 5xx',
  library: 'random operations have the results of a plain model, page by page and event by event',
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
