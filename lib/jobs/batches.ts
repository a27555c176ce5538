import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../context.ts'
import { int, statement } from '../storage/statement.ts'
import { continueJob, done, type Job, type JobHandler, maxRowsPerBatch } from './operations.ts'

/** The parameters of a statement that changes some of the rows of a target. */
export const batch = { target: int, limit: int }

export interface Batch {
  readonly target: number
  readonly limit: number
  readonly state: Job['state']
}

/** Changes at most `limit` rows of the target, and returns their number. 0 means that there are none left. */
export type BatchStep = (tx: Tx, batch: Batch) => Promise<number>

/** Returns a handler that runs the steps in order. Each step begins when the one before has no rows left. */
export function inBatches(...steps: readonly BatchStep[]): JobHandler {
  return async (tx, { targetId: target, state }) => {
    let limit = maxRowsPerBatch
    for (const step of steps) {
      limit -= await step(tx, { target, limit, state })
      if (limit <= 0) return continueJob()
    }
    return done()
  }
}

/** Counts each row of a step as several, because it is larger than others. */
export function weighted(weight: number, step: BatchStep): BatchStep {
  return async (tx, { limit, ...rest }) => (await step(tx, { ...rest, limit: Math.ceil(limit / weight) })) * weight
}

/** The placeholders of `batch`. */
export type BatchSlots = { readonly [K in keyof typeof batch]: RawBuilder<number> }

/**
 * Returns a step of a merge, which moves rows of the target to the contact `into` of the job's state.
 *
 * @param move Builds the statement.
 */
export function moveRows(move: (p: BatchSlots & { into: RawBuilder<number> }) => RawBuilder<unknown>): BatchStep {
  const moveBatch = statement.affected({ ...batch, into: int }, (_, p) => move(p))
  return (tx, { state, ...rest }) => moveBatch(tx, { ...rest, into: (state as { into: number }).into })
}

/**
 * Deletes the rows of `table` whose `column` is the target. `key` identifies a row among them.
 *
 * PostgreSQL's statistics may not know the target's rows yet. If the outer statement compared the column too, PostgreSQL
 * could begin with all of them.
 */
export function deleteRows(table: string, column: string, key = 'id'): BatchStep {
  const identity = sql.raw(`${column}, ${key}`)
  return statement.affected(
    batch,
    (_, p, dialect) => sql`${dialect.customPlan} delete from ${sql.table(table)} where (${identity}) in
      (select ${identity} from ${sql.table(table)} where ${sql.ref(column)} = ${p.target} limit ${p.limit})`,
  )
}
