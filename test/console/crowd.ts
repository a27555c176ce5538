/** Fills the database of a daemon by bare statements, because requests for as many records would take minutes. */
import Database from 'better-sqlite3'

export interface Crowd {
  readonly contacts: number
  /** Deliveries, in every state, to the endpoints that exist. Every contact has an event. */
  readonly deliveries: number
}

const uuid = `lower(printf('%s-%s-4%s-a%s-%s', hex(randomblob(4)), hex(randomblob(2)), substr(hex(randomblob(2)), 2),
  substr(hex(randomblob(2)), 2), hex(randomblob(6))))`

/** A time of the last 29 days, as the tables store it. */
const time = (minutesAgo: string) =>
  `strftime('%Y-%m-%dT%H:%M:%f', 'now', '-' || (${minutesAgo}) || ' minutes') || '000Z'`

const numbers = 'with recursive n (i) as (select 1 union all select i + 1 from n where i < ?)'

const contacts = `insert into mailkeep_contact (client_id, uuid, created_at, email, email_key, name, attributes, search,
    unsubscribed_at, unsubscribed_by_contact)
  ${numbers}, person (i, at, name, email) as
    (select i, ${time('i * 7 % 41760')}, 'Person ' || i, 'person' || i || '@example.org' from n)
  select 1, ${uuid}, at, email, email, name, '{"plan":"pro"}', lower(name) || char(31) || email,
    case when i % 20 = 0 then at end, 0 from person`

const groups = ['list', 'tag', 'topic'].map(
  (kind) => `insert into mailkeep_contact_${kind} select 1, contact.id, of.id from mailkeep_contact as contact
    join (select id, row_number() over (order by id) - 1 as place, count(*) over () as many from mailkeep_${kind}) as of
    on of.place = contact.id % of.many`,
)

const events = `insert into mailkeep_event (client_id, uuid, created_at, type, contact_id, body)
  select 1, uuid, created_at, 'contact.created', id, json_object('id', uuid, 'type', 'contact.created',
    'created_at', created_at, 'data', json_object('contact', json_object('id', id, 'email', email)))
  from mailkeep_contact`

const deliveries = `insert into mailkeep_delivery (client_id, uuid, created_at, endpoint_id, event_id, event_type, status,
    attempts, due_at, scheduled_at, ended_at, response_status, error, delivered_at)
  ${numbers}, made (i, at, status) as (select i, ${time('i * 11 % 41760')},
    case i % 10 when 0 then 'pending' when 1 then 'failed' when 2 then 'held' else 'success' end from n)
  select 1, ${uuid}, made.at, endpoint.id, (select min(id) from mailkeep_event) + i % (select count(*) from mailkeep_event),
    'contact.created', status, status in ('success', 'failed'), at, iif(status = 'pending', at, null),
    iif(status = 'pending', null, at), case status when 'success' then 200 when 'failed' then 500 end,
    iif(status = 'failed', 'The receiver answered 500.', null), iif(status = 'success', at, null)
  from made join (select id, row_number() over (order by id) - 1 as place, count(*) over () as many
    from mailkeep_endpoint where kind = 'http') as endpoint on endpoint.place = made.i % endpoint.many`

const attempts = `insert into mailkeep_attempt (delivery_id, number, client_id, started_at, duration_ms, response_status,
    error, response_body)
  select id, 1, 1, created_at, 25, response_status, error, 'oops' from mailkeep_delivery where status = 'failed'`

const troubles = `update mailkeep_endpoint set consecutive_failures = id % 7, active = id % 11 <> 0,
  disabled_reason = iif(id % 11 = 0, 'auto_failures', null), last_triggered_at = created_at where kind = 'http'`

const counts = ['hour', 'day', 'minute'].map(
  (step) => `insert into mailkeep_delivery_count
    select 1, 0, '${step}', strftime(${
      { minute: `'%Y-%m-%dT%H:%M:00'`, hour: `'%Y-%m-%dT%H:00:00'`, day: `'%Y-%m-%dT00:00:00'` }[step]
    }, created_at) || '.000000Z' as at, sum(status = 'success'), 0, sum(status = 'failed'), sum(status = 'success'),
      0, 0, 0, 0, 0, 0, 0 from mailkeep_delivery group by at`,
)

const search = `insert into mailkeep_search (mailkeep_search) values ('rebuild')`

/** Adds the records to the first client, and puts the contacts on its lists. */
export function fill(file: string, { contacts: people, deliveries: many }: Crowd): void {
  const db = new Database(file)
  try {
    db.pragma('synchronous = off')
    db.pragma('busy_timeout = 10000')
    const run = (statement: string, ...values: number[]) => db.prepare(statement).run(...values)
    run(contacts, people)
    for (const statement of [...groups, search, events]) run(statement)
    run(deliveries, many)
    for (const statement of [attempts, troubles, ...counts]) run(statement)
  } finally {
    db.close()
  }
}
