/** Sequences whose list was deleted or changed, and the contacts whom it had enrolled. */
import { sql } from 'kysely'
import { audit } from '../audit/operations.ts'
import { now, type Tx } from '../context.ts'
import {
  continueJob,
  done,
  type Job,
  type JobHandlers,
  type JobResult,
  maxRowsPerBatch,
  runOrEnqueue,
} from '../jobs/operations.ts'
import { int, ints, statement, time } from '../storage/statement.ts'
import { requireNotExcluded } from './audience.ts'

/** Takes a list from its sequences, and returns them. */
const releaseSequences = statement.all(
  { list_id: int, now: time },
  (_, p) => sql<{ id: number }>`update mailkeep_sequence set list_id = null, updated_at = ${p.now}
    where list_id = ${p.list_id} returning id`,
)

/** Lists enrolments that depend on the list of their sequence. */
const listMembers = statement.all(
  { sequence_id: int, after: int, limit: int },
  (_, p, dialect) => sql<{ id: number }>`select id from mailkeep_enrolment
    where sequence_id = ${p.sequence_id} and id > ${p.after} and is_member order by id limit ${p.limit} ${dialect.forUpdate}`,
)

/** Makes enrolments independent of the list. With `stop`, those that are active stop, because the list was deleted. */
const releaseEnrolments = statement(
  { ids: ints },
  (_, p, dialect, { stop }) =>
    sql`update mailkeep_enrolment set ${
      stop
        ? sql`reason = case when status = 'active' then 'left_list' else reason end,
        due_at = case when status = 'active' then null else due_at end,
        status = case when status = 'active' then 'stopped' else status end`
        : sql`is_member = ${sql.lit(false)}`
    } where ${dialect.inList(sql.ref('id'), p.ids)}`,
  ['stop'],
)

const releaseMembers = 'release members'

export const triggerJobs: JobHandlers = { [releaseMembers]: releaseBatch }

interface Release {
  readonly after: number
  /** Whether the enrolments stop; otherwise they continue, and no longer depend on a list. */
  readonly stop: boolean
}

/**
 * Takes a deleted list from its sequences. Its members have left it, so their enrolments stop.
 *
 * @throws MailkeepError `conflict`: a newsletter that excludes it is about to be sent.
 */
export async function releaseList(tx: Tx, listId: number): Promise<void> {
  await requireNotExcluded(tx, listId)
  for (const { id } of await releaseSequences(tx, { list_id: listId, now: now(tx) })) {
    await audit(tx, 'sequence.updated', id)
    await releaseMembersOf(tx, id, { stop: true })
  }
}

/** Makes the enrolments of a sequence independent of its list, because the sequence is to have another one, or none. */
export async function releaseMembersOf(tx: Tx, sequenceId: number, { stop }: Pick<Release, 'stop'>): Promise<void> {
  await runOrEnqueue(tx, releaseMembers, { targetId: sequenceId, state: { after: 0, stop } satisfies Release })
}

async function releaseBatch(tx: Tx, { targetId: sequence_id, state }: Job): Promise<JobResult> {
  const { after, stop } = state as Release
  const rows = await listMembers(tx, { sequence_id, after, limit: maxRowsPerBatch })
  const ids = rows.map(({ id }) => id)
  if (ids.length > 0) await releaseEnrolments(tx, { ids }, { stop })
  return ids.length < maxRowsPerBatch ? done() : continueJob({ after: ids.at(-1)!, stop })
}
