import type Database from 'better-sqlite3'

/**
 * Records each statement that is prepared on the handle from now on.
 *
 * @returns `texts`: the statements; `runs`: how often each was read with `all`; `prepare`: prepares a statement that is not
 *   recorded.
 */
export function recordStatements(handle: Database.Database) {
  const texts = new Set<string>()
  const runs = new Map<string, number>()
  const prepare = handle.prepare.bind(handle)
  handle.prepare = ((sql: string) => {
    texts.add(sql)
    const statement = prepare(sql)
    const all = statement.all.bind(statement)
    statement.all = (...parameters) => {
      runs.set(sql, (runs.get(sql) ?? 0) + 1)
      return all(...parameters)
    }
    return statement
  }) as typeof handle.prepare
  return { texts, runs, prepare }
}
