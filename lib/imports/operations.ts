import { clearInterval, setInterval } from 'node:timers'
import { type Context, now } from '../context.ts'
import { isMailkeepError, notFound } from '../errors.ts'
import { deleteOlder } from '../jobs/operations.ts'
import { listPage, mapPage, type Page, type PageInput, type Range } from '../page.ts'
import { requireId } from '../parse.ts'
import { transact } from '../storage/transaction.ts'
import { dayMs, msOf } from '../time.ts'
import * as queries from './queries.ts'
import { type Import, importFrom } from './schema.ts'

export { deleteImportsOfClient } from './queries.ts'

const progressIntervalMs = 1000
/** A running import updates its record at least this often, also while it waits for its source. */
const heartbeatMs = 10_000
/** Without a heartbeat for this long, the process of an import is considered dead. */
const abandonedMs = 60_000

/**
 * Returns an import with its progress, which is updated once a second.
 *
 * @throws MailkeepError `not_found`
 */
export async function getImport(ctx: Context, id: number): Promise<Import> {
  requireId('importId', id)
  const row = await queries.imports.find(ctx, { client_id: ctx.clientId, id })
  if (!row) throw notFound('import')
  return toImport(ctx, row)
}

/**
 * Returns one page of the client's imports, newest first. Imports are kept for 30 days.
 *
 * @throws MailkeepError `validation_failed`
 */
export async function listImports(ctx: Context, query?: PageInput): Promise<Page<Import>> {
  const read = (range: Range) => queries.imports.list(ctx, { client_id: ctx.clientId, ...range }, range)
  return mapPage(await listPage(query, read, true), (row) => toImport(ctx, row))
}

type StoredImport = NonNullable<Awaited<ReturnType<typeof queries.imports.find>>>

function toImport(ctx: Context, { row_count, seen_at, ...row }: StoredImport): Import {
  const isAbandoned = row.status === 'running' && msOf(seen_at) < ctx.clock() - abandonedMs
  return importFrom({
    ...row,
    dry_run: Boolean(row.dry_run),
    rows: row_count,
    ...(isAbandoned && { status: 'failed', error: 'abandoned', finished_at: seen_at }),
  })
}

/** Live counts of an import, which its recorder reads. */
export interface Progress {
  readonly total: number
  readonly created: number
  readonly updated: number
  readonly skipped: number
  readonly refused: number
}

interface ImportRecorder {
  readonly id: number
  /** Records the end, with the error if there was one. It is `aborted` if it is the reason of the signal. */
  finish(error?: unknown, signal?: AbortSignal): Promise<void>
}

/** Records an import, and its progress once a second until it is finished. */
export async function recordImport(
  ctx: Context,
  { list_id, dry_run }: Pick<Import, 'list_id' | 'dry_run'>,
  progress: Progress,
): Promise<ImportRecorder> {
  const inserted = await transact(ctx, (tx) =>
    queries.insertImport(tx, { client_id: tx.clientId, list_id, dry_run, started_at: now(tx) }),
  )
  const id = inserted!
  let running: Promise<void> | undefined
  let savedTotal = 0
  let savedMs = performance.now()
  const save = async () => {
    const isDue = progress.total !== savedTotal || performance.now() - savedMs >= heartbeatMs
    if (!isDue) return
    savedTotal = progress.total
    savedMs = performance.now()
    try {
      await transact(ctx, (tx) => queries.updateProgress(tx, { id, ...countsOf(progress), seen_at: now(tx) }))
    } catch (error) {
      ctx.logger.warn({ err: error, importId: id }, 'the progress of an import could not be stored')
    }
  }
  const tick = () => {
    running ??= save().finally(() => {
      running = undefined
    })
  }
  const timer = setInterval(tick, progressIntervalMs).unref()
  return {
    id,
    async finish(error, signal) {
      clearInterval(timer)
      await running
      const end =
        error === undefined
          ? { status: 'finished' as const, error: null }
          : { status: 'failed' as const, error: codeOf(error, signal) }
      const seen_at = now(ctx)
      await transact(ctx, (tx) => queries.finishImport(tx, { id, ...countsOf(progress), ...end, seen_at }))
    },
  }
}

function codeOf(error: unknown, signal: AbortSignal | undefined): string {
  if (signal?.aborted && error === signal.reason) return 'aborted'
  return isMailkeepError(error) ? error.code : 'internal'
}

function countsOf({ total, created, updated, skipped, refused }: Progress) {
  return { row_count: total, created, updated, skipped, refused }
}

/** Deletes the records of imports that began more than 30 days ago, in batches. */
export async function deleteExpiredImports(ctx: Context): Promise<void> {
  await deleteOlder(ctx, 30 * dayMs, queries.deleteOldImports)
}
