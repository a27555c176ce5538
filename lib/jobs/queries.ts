import { type Selectable, sql } from 'kysely'
import { deleteBefore } from '../storage/records.ts'
import { int, json, nullable, statement, text, texts, time, word } from '../storage/statement.ts'
import type { Tables } from '../storage/tables.ts'

export type StoredJob = Selectable<Tables['mailkeep_job']>

export const insertJob = statement(
  { client_id: int, kind: text, target_id: int, state: json, created_at: time, run_at: time },
  (db, row) => db.insertInto('mailkeep_job').values(row).returning('id'),
)

/**
 * Locks the job of these kinds that has been due longest, and that no other process has locked. A job without a delay
 * is due even if the clock was set back since. So is one that failed, if it waits until after `latest_retry`.
 */
export const lockDueJob = statement({ kinds: texts, now: time, latest_retry: time }, (db, p, dialect) =>
  db
    .selectFrom('mailkeep_job')
    .selectAll()
    .where('status', '=', sql.lit('pending'))
    .where(dialect.inList(sql.ref('kind'), p.kinds))
    .where((eb) =>
      eb.or([
        eb('run_at', '<=', p.now),
        eb('run_at', '=', eb.ref('created_at')),
        eb.and([eb('failures', '>', sql.lit(0)), eb('run_at', '>', p.latest_retry)]),
      ]),
    )
    .orderBy('run_at')
    .orderBy('id')
    .limit(1)
    .modifyEnd(dialect.forUpdateSkipLocked),
)

export const findNextRun = statement({ kinds: texts }, (db, p, dialect) =>
  db
    .selectFrom('mailkeep_job')
    .select('run_at')
    .where('status', '=', sql.lit('pending'))
    .where(dialect.inList(sql.ref('kind'), p.kinds))
    .orderBy('run_at')
    .limit(1),
)

/** Saves the result of a batch. */
export const updateJob = statement(
  {
    id: int,
    status: word<StoredJob['status']>(),
    state: json,
    created_at: time,
    run_at: time,
    finished_at: nullable(time),
  },
  (db, p) =>
    db
      .updateTable('mailkeep_job')
      .set({
        status: p.status,
        state: p.state,
        created_at: p.created_at,
        run_at: p.run_at,
        finished_at: p.finished_at,
        failures: sql.lit(0),
      })
      .where('id', '=', p.id),
)

/** Postpones a job that failed, unless another process has run it since. */
export const postponeJob = statement({ id: int, run_at: time, failures: int }, (db, p) =>
  db
    .updateTable('mailkeep_job')
    .set((eb) => ({ run_at: p.run_at, failures: eb('failures', '+', 1) }))
    .where('id', '=', p.id)
    .where('status', '=', 'pending')
    .where('failures', '=', p.failures),
)

/** Replaces the state of a pending job. */
export const updateState = statement({ id: int, state: json }, (db, p) =>
  db.updateTable('mailkeep_job').set({ state: p.state }).where('id', '=', p.id).where('status', '=', 'pending'),
)

export const findJob = statement({ client_id: int, kind: text, target_id: int, id: int }, (db, p) =>
  db
    .selectFrom('mailkeep_job')
    .select('state')
    .where('client_id', '=', p.client_id)
    .where('kind', '=', p.kind)
    .where('target_id', '=', p.target_id)
    .where('id', '=', p.id),
)

/** Finds the pending job of a kind and target, of which there is at most one. */
export const findPending = statement({ client_id: int, kind: text, target_id: int }, (db, p) =>
  db
    .selectFrom('mailkeep_job')
    .select(['id', 'state'])
    .where('client_id', '=', p.client_id)
    .where('kind', '=', p.kind)
    .where('target_id', '=', p.target_id)
    .where('status', '=', 'pending'),
)

/** Deletes a batch of the jobs that finished before a time. */
export const deleteFinished = deleteBefore('mailkeep_job', 'finished_at')
