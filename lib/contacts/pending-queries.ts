/** Statements on memberships that wait for a confirmation. */
import { sql } from 'kysely'
import { int, rows, statement, time } from '../storage/statement.ts'

const membership = { contact_id: int, list_id: int }

/**
 * Requests memberships that do not exist. A request that was made after `requested_before` is not repeated, unless the clock
 * was set back since. Skips contacts that wait for too many lists.
 *
 * @returns The memberships that were requested.
 */
export const insertRequests = statement.all(
  { pairs: rows(membership), requested_at: time, requested_before: time, max_lists: int },
  (_, p, dialect) => sql<{ contact_id: number; list_id: number }>`
    insert into mailkeep_pending_membership (contact_id, list_id, requested_at)
    select item.contact_id, item.list_id, ${p.requested_at} from ${dialect.unnestRows(p.pairs, membership)}
    where not exists (select 1 from mailkeep_contact_list as m
        where m.contact_id = item.contact_id and m.list_id = item.list_id)
      and (select count(*) from mailkeep_pending_membership as w
        where w.contact_id = item.contact_id and w.list_id <> item.list_id) < ${p.max_lists}
    on conflict (contact_id, list_id) do update set requested_at = excluded.requested_at
      where mailkeep_pending_membership.requested_at < ${p.requested_before}
        or mailkeep_pending_membership.requested_at > excluded.requested_at
    returning contact_id, list_id`,
)

export const findRequest = statement({ ...membership, requested_since: time }, (db, p) =>
  db
    .selectFrom('mailkeep_pending_membership')
    .select('list_id')
    .where('contact_id', '=', p.contact_id)
    .where('list_id', '=', p.list_id)
    .where('requested_at', '>=', p.requested_since),
)

/** Returns the lists that a contact was asked to confirm, without those that it is on since. */
export const listRequests = statement.all(
  { contact_id: int, requested_since: time },
  (_, p) => sql<{ list_id: number }>`select w.list_id from mailkeep_pending_membership as w
    where w.contact_id = ${p.contact_id} and w.requested_at >= ${p.requested_since}
      and not exists (select 1 from mailkeep_contact_list as m
        where m.contact_id = w.contact_id and m.list_id = w.list_id)`,
)

export const deleteRequest = statement.affected(membership, (db, p) =>
  db.deleteFrom('mailkeep_pending_membership').where('contact_id', '=', p.contact_id).where('list_id', '=', p.list_id),
)

export const deleteRequests = statement.affected(
  { pairs: rows(membership) },
  (_, p, dialect) => sql`delete from mailkeep_pending_membership where (contact_id, list_id) in
    (select item.contact_id, item.list_id from ${dialect.unnestRows(p.pairs, membership)})`,
)

export const deleteRequestsOfContact = statement.affected({ contact_id: int }, (db, p) =>
  db.deleteFrom('mailkeep_pending_membership').where('contact_id', '=', p.contact_id),
)

/** Copies the requests of a merged contact. Of two for one list, the newer one stays. */
export const copyRequests = statement(
  { source: int, target: int },
  (_, p) => sql`insert into mailkeep_pending_membership (contact_id, list_id, requested_at)
    select ${p.target}, w.list_id, w.requested_at from mailkeep_pending_membership as w
    where w.contact_id = ${p.source} and not exists (select 1 from mailkeep_contact_list as m
      where m.contact_id = ${p.target} and m.list_id = w.list_id)
    on conflict (contact_id, list_id) do update set requested_at = excluded.requested_at
      where mailkeep_pending_membership.requested_at < excluded.requested_at`,
)

/** Deletes a batch of requests whose links have expired. */
export const deleteExpiredRequests = statement.affected(
  { requested_before: time, limit: int },
  (_, p) => sql`delete from mailkeep_pending_membership where (contact_id, list_id) in
    (select contact_id, list_id from mailkeep_pending_membership where requested_at < ${p.requested_before}
      limit ${p.limit})`,
)
