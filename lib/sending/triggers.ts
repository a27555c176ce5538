/** Sequences whose list was deleted, and the contacts whom it had enrolled. */
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
import { int, statement, time } from '../storage/statement.ts'
import { refuseWhileChoosing } from './audience.ts'
import { stopEnrolments } from './sequence-queries.ts'

/** Takes a list from its sequences, and returns them. */
const releaseSequences = statement.all(
  { list_id: int, now: time },
  (_, p) => sql<{ id: number; list_version: number }>`
    update mailkeep_sequence set list_id = null, updated_at = ${p.now}
    where list_id = ${p.list_id} returning id, list_version`,
)

/** Lists active enrolments that depend on the list which the sequence had with this version. */
const listMembers = statement.all(
  { sequence_id: int, list_version: int, after: int, limit: int },
  (_, p, dialect) => sql<{ id: number }>`select id from mailkeep_enrolment
    where sequence_id = ${p.sequence_id} and id > ${p.after} and status = 'active' and list_version = ${p.list_version}
    order by id limit ${p.limit} ${dialect.forUpdate}`,
)

const stopMembers = 'stop members'

export const triggerJobs: JobHandlers = { [stopMembers]: stopBatch }

interface Stop {
  readonly after: number
  /** The version of the deleted list. The sequence may have another one by now. */
  readonly list_version: number
}

/**
 * Takes a deleted list from its sequences. Its members have left it, so their enrolments stop.
 *
 * @throws MailkeepError `conflict`: a newsletter that excludes it is about to be sent.
 */
export async function releaseList(tx: Tx, listId: number): Promise<void> {
  await refuseWhileChoosing(tx, 'list', listId)
  for (const { id, list_version } of await releaseSequences(tx, { list_id: listId, now: now(tx) })) {
    audit(tx, 'sequence.updated', id)
    await runOrEnqueue(tx, stopMembers, { targetId: id, state: { after: 0, list_version } satisfies Stop })
  }
}

async function stopBatch(tx: Tx, { targetId: sequence_id, state }: Job): Promise<JobResult> {
  const { after, list_version } = state as Stop
  const rows = await listMembers(tx, { sequence_id, list_version, after, limit: maxRowsPerBatch })
  const ids = rows.map(({ id }) => id)
  if (ids.length > 0) await stopEnrolments(tx, { ids, reason: 'left_list' })
  return ids.length < maxRowsPerBatch ? done() : continueJob({ after: ids.at(-1)!, list_version })
}
