import type Database from 'better-sqlite3'

/**
 * Records each statement that is prepared on the handle from now on.
 *
 * @returns `texts`: the statements; `prepare`: prepares a statement that is not recorded.
 */
export function recordStatements(handle: Database.Database) {
  const texts = new Set<string>()
  const prepare = handle.prepare.bind(handle)
  handle.prepare = ((sql: string) => {
    texts.add(sql)
    return prepare(sql)
  }) as typeof handle.prepare
  return { texts, prepare }
}
