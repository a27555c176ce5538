import { sql } from 'kysely'
import { deleteRows } from '../jobs/batches.ts'
import { recordStatements } from '../storage/records.ts'
import { int, nullable, statement, text, time, word } from '../storage/statement.ts'
import type { NewsletterStatus } from './statuses.ts'

const key = { client_id: int, id: int }

const counts = ['recipients', 'sent', 'failed', 'skipped', 'uncertain'] as const

const summaryColumns = [
  ...(['id', 'uuid', 'name', 'subject', 'preheader', 'from_identity_id', 'reply_to', 'audience', 'status'] as const),
  ...(['error', 'scheduled_at', 'created_at', 'updated_at', 'started_at', 'finished_at'] as const),
  ...counts,
] as const

/** Lists newsletters without their content, which may have megabytes. */
export const listNewsletters = statement.range(
  { client_id: int, status: word<NewsletterStatus>() },
  (db, p, _, { byStatus }) => {
    const query = db.selectFrom('mailkeep_newsletter').select(summaryColumns).where('client_id', '=', p.client_id)
    return byStatus ? query.where('status', '=', p.status) : query
  },
  ['byStatus'],
)

/** `lock`: while a newsletter is locked, no process claims its messages. */
export const newsletters = recordStatements('mailkeep_newsletter')

const content = {
  name: text,
  subject: text,
  preheader: nullable(text),
  from_identity_id: nullable(int),
  reply_to: nullable(text),
  html: text,
  text: nullable(text),
  audience: text,
  updated_at: time,
}

export const insertNewsletter = statement(
  { client_id: int, uuid: text, ...content, status: word<NewsletterStatus>(), created_at: time },
  (db, row) => db.insertInto('mailkeep_newsletter').values(row).returningAll(),
)

export const updateNewsletter = statement({ ...key, ...content }, (db, { client_id, id, ...row }) =>
  db.updateTable('mailkeep_newsletter').set(row).where('client_id', '=', client_id).where('id', '=', id).returningAll(),
)

/** Changes the state. Times that are null stay, but a newsletter that is being sent is not finished. */
export const updateState = statement(
  {
    ...key,
    status: word<NewsletterStatus>(),
    now: time,
    error: nullable(text),
    from_identity_id: nullable(int),
    scheduled_at: nullable(time),
    started_at: nullable(time),
    finished_at: nullable(time),
  },
  (db, p) =>
    db
      .updateTable('mailkeep_newsletter')
      .set((eb) => ({
        status: p.status,
        updated_at: p.now,
        error: p.error,
        from_identity_id: eb.fn.coalesce(p.from_identity_id, 'from_identity_id'),
        scheduled_at: eb.fn.coalesce(p.scheduled_at, 'scheduled_at'),
        started_at: eb.fn.coalesce('started_at', p.started_at),
        finished_at: sql<
          string | null
        >`case when ${p.status} <> 'sending' then coalesce(${p.finished_at}, finished_at) end`,
      }))
      .where('client_id', '=', p.client_id)
      .where('id', '=', p.id)
      .returningAll(),
)

/** Stores the filters that the segment has now. */
export const setSegmentFilters = statement({ ...key, segment_filters: text }, (db, p) =>
  db
    .updateTable('mailkeep_newsletter')
    .set({ segment_filters: p.segment_filters })
    .where('client_id', '=', p.client_id)
    .where('id', '=', p.id),
)

/** Takes the lock of a client's recipients until the transaction ends. */
export const lockRecipients = statement(
  { name: text },
  (_, p, dialect, { shared }) => (shared ? dialect.lockShared!(p.name) : dialect.lock!(p.name)),
  ['shared'],
)

/** The kind of the job that chooses the recipients of a newsletter. */
export const prepareNewsletter = 'prepare newsletter'

/** The kind of the job that sends messages again, or skips them, whose outcome is not known. */
export const skipOrResend = 'settle uncertain'

/** Returns the newsletters whose recipients are being chosen. It finds them by their jobs: a client has few at a time. */
export const listPreparing = statement.all(
  { client_id: int },
  (_, p) => sql<{ id: number; audience: string; segment_filters: string | null }>`
    select n.id, n.audience, n.segment_filters from mailkeep_job as job cross join mailkeep_newsletter as n
    where job.client_id = ${p.client_id} and job.kind = ${sql.lit(prepareNewsletter)} and job.status = 'pending'
      and n.id = job.target_id and n.status in ('sending', 'paused')`,
)

/** Finds a scheduled newsletter of any client, by its job. */
export const findScheduled = statement(
  { kind: text },
  (_, p) => sql<{ id: number }>`
    select n.id from mailkeep_job as job cross join mailkeep_newsletter as n
    where job.kind = ${p.kind} and job.status = 'pending' and n.id = job.target_id and n.status = 'scheduled' limit 1`,
)

/** Removes the time of a scheduled newsletter that is sent before it. */
export const clearSchedule = statement(key, (db, p) =>
  db
    .updateTable('mailkeep_newsletter')
    .set({ scheduled_at: null })
    .where('client_id', '=', p.client_id)
    .where('id', '=', p.id),
)

/** Adds to the counts, and returns the newsletter with what decides whether it is finished. */
export const addCounts = statement(
  { id: int, recipients: int, sent: int, failed: int, skipped: int, uncertain: int },
  (db, p) =>
    db
      .updateTable('mailkeep_newsletter')
      .set((eb) => ({
        recipients: eb('recipients', '+', p.recipients),
        sent: eb('sent', '+', p.sent),
        failed: eb('failed', '+', p.failed),
        skipped: eb('skipped', '+', p.skipped),
        uncertain: eb('uncertain', '+', p.uncertain),
      }))
      .where('id', '=', p.id)
      .returning([...summaryColumns, 'client_id', 'is_prepared', 'is_announced']),
)

export const setPrepared = statement({ id: int }, (db, p) =>
  db
    .updateTable('mailkeep_newsletter')
    .set({ is_prepared: sql.lit(true) })
    .where('id', '=', p.id),
)

export const finish = statement({ id: int, now: time }, (db, p) =>
  db
    .updateTable('mailkeep_newsletter')
    .set({ status: 'sent', finished_at: p.now, updated_at: p.now, is_announced: sql.lit(true) })
    .where('id', '=', p.id)
    .returning([...summaryColumns, 'client_id']),
)

/** Returns the last contact of the client, whose id limits who gets a newsletter that starts now. */
export const findLastContact = statement(
  { client_id: int },
  (_, p) => sql<{ id: number | null }>`select max(id) as id from (
    select max(id) as id from mailkeep_contact where client_id = ${p.client_id} and unsubscribed_at is null) as last`,
)

export const deleteNewslettersOfClient = deleteRows('mailkeep_newsletter', 'client_id')
