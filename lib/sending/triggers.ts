/** Sequences whose list was deleted or changed, and the contacts whom it had enrolled. */
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
import { requireNotExcluded } from './audience.ts'
import * as queries from './trigger-queries.ts'

const releaseMembers = 'release members'

export const triggerJobs: JobHandlers = { [releaseMembers]: releaseBatch }

interface Release {
  readonly after: number
  /** Whether the enrolments stop; otherwise they go on, and no longer depend on a list. */
  readonly stop: boolean
}

/**
 * Takes a deleted list from its sequences. Its members have left it, so their enrolments stop.
 *
 * @throws MailkeepError `conflict`: a newsletter that excludes it is about to be sent.
 */
export async function releaseList(tx: Tx, listId: number): Promise<void> {
  await requireNotExcluded(tx, listId)
  for (const { id } of await queries.releaseSequences(tx, { list_id: listId, now: now(tx) })) {
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
  const rows = await queries.listMembers(tx, { sequence_id, after, limit: maxRowsPerBatch })
  const ids = rows.map(({ id }) => id)
  if (ids.length > 0) await queries.releaseMembers(tx, { ids }, { stop })
  return ids.length < maxRowsPerBatch ? done() : continueJob({ after: ids.at(-1)!, stop })
}
