import assert from 'node:assert/strict'
import { before } from 'node:test'
import pg from 'pg'
import { createMailkeep, type Logger, type Mailkeep } from '../../lib/index.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import { CapturingTransport } from '../../lib/testing/mail.ts'
import { databaseUrl, hasPostgres, onPostgres, openPostgres, queryOnce, test } from '../support/databases.ts'
import { openReceiver, until } from '../support/webhook-harness.ts'

/** Creates clients on lists and topics, with tags; the first client has most of the contacts. */
const seed = `
  insert into mailkeep_client (uuid, name, created_at) select gen_random_uuid(), 'c' || i, now() from generate_series(1, 3) i;
  insert into mailkeep_list (client_id, uuid, created_at, name)
    select c.id, gen_random_uuid(), now(), 'l' || i from mailkeep_client c, generate_series(1, 3) i order by c.id, i;
  insert into mailkeep_topic (client_id, list_id, uuid, created_at, name)
    select client_id, id, gen_random_uuid(), now(), 't' from mailkeep_list order by id;
  insert into mailkeep_tag (client_id, uuid, created_at, name, name_key)
    select c.id, gen_random_uuid(), now(), 't' || i, 't' || i from mailkeep_client c, generate_series(1, 3) i order by c.id, i;
  insert into mailkeep_contact (client_id, uuid, created_at, email, email_key, name, attributes, search,
      unsubscribed_at, unsubscribed_by_contact)
    select case when i % 10 > 0 then 1 else 2 end, gen_random_uuid(), now() - (20000 - i) * interval '1 minute', e, e, '',
      '{}', chr(31) || e,
      case when i % 10 = 5 then now() end, false
    from (select i, 'user' || i || '@example' || i % 7 || '.org' as e from generate_series(1, 20000) i) as x;
  insert into mailkeep_contact_list select client_id, id, 3 * (client_id - 1) + 1 + id % 3 from mailkeep_contact;
  insert into mailkeep_contact_topic select client_id, id, 3 * (client_id - 1) + 1 + id / 7 % 3 from mailkeep_contact;
  insert into mailkeep_contact_tag
    select client_id, id, 3 * (client_id - 1) + case when id % 1000 = 1 then 1 when id % 2 = 0 then 2 else 3 end from mailkeep_contact;
  insert into mailkeep_indexed_attribute (client_id, name, ready) values (1, 'plan', true), (1, 'city', true);
  insert into mailkeep_contact_attribute (contact_id, attribute_id, value_key)
    select id, 1, case when id % 2 = 0 then '=pro' else '=basic' end from mailkeep_contact where client_id = 1 union all
    select id, 2, '=city ' || id % 500 from mailkeep_contact where client_id = 1;
  insert into mailkeep_segment (client_id, uuid, created_at, name, filters) values (1, gen_random_uuid(), now(), 's',
    '{"lists": [1, 2], "exclude_tags": [1], "attributes": {"plan": "pro"}, "search": "user"}');
  insert into mailkeep_endpoint (client_id, uuid, created_at, url, description, events, active, consecutive_failures, secret)
    select 1, gen_random_uuid(), now(), 'http://127.0.0.1:1', '', '["newsletter.sent"]', i % 4 > 0, 0, 'x' from generate_series(1, 20) i;
  insert into mailkeep_event (client_id, uuid, created_at, type, contact_id, body)
    select 1, gen_random_uuid(), now(), 'newsletter.sent', i, '{}' from generate_series(1, 10000) i;
  insert into mailkeep_delivery (client_id, uuid, created_at, endpoint_id, event_id, event_type, status, attempts, due_at,
      scheduled_at, ended_at)
    select 1, gen_random_uuid(), now(), 1 + e % 20, e, 'newsletter.sent', (array['pending', 'success', 'failed', 'held'])[1 + e % 4], 1,
      now() + (e % 100 - 50) * interval '1 minute', case when e % 4 = 0 then now() end, case when e % 4 > 0 then now() end from generate_series(1, 10000) e;
  insert into mailkeep_attempt (delivery_id, number, client_id, started_at) select id, 1, 1, now() from mailkeep_delivery;
  analyze;`

/** Adds events that were delivered. */
const delivered = `
  insert into mailkeep_event (client_id, uuid, created_at, type, contact_id, body)
    select 1, gen_random_uuid(), now(), 'newsletter.sent', 1 + i % 18000, '{}' from generate_series(1, 90000) i;
  insert into mailkeep_delivery (client_id, uuid, created_at, endpoint_id, event_id, event_type, status, attempts, due_at,
      ended_at)
    select 1, gen_random_uuid(), now(), 1, id, type, 'success', 1, now(), now() from mailkeep_event where id > 10000;
  insert into mailkeep_attempt (delivery_id, number, client_id, started_at)
    select id, 1, 1, now() from mailkeep_delivery where id > 10000;`

/** Adds lists, topics and tags of another client. */
const groups = `
  insert into mailkeep_list (client_id, uuid, created_at, name)
    select 2, gen_random_uuid(), now(), 'many ' || i from generate_series(1, 5000) i;
  insert into mailkeep_topic (client_id, list_id, uuid, created_at, name)
    select client_id, id, gen_random_uuid(), now(), 't' from mailkeep_list where name like 'many %';
  insert into mailkeep_tag (client_id, uuid, created_at, name, name_key)
    select client_id, gen_random_uuid(), now(), name, name from mailkeep_list where name like 'many %';`

/** Adds deliveries of one endpoint that are all due: its receiver is down. */
const backlog = `
  insert into mailkeep_delivery (client_id, uuid, created_at, endpoint_id, event_id, event_type, status, attempts, due_at,
      scheduled_at)
    select 1, gen_random_uuid(), now(), 19, e, 'newsletter.sent', 'pending', 1, now() - interval '1 hour', now()
    from generate_series(1, 10000) e, generate_series(1, 10);
  update mailkeep_endpoint set active = id % 4 > 0;
  analyze;`

/** Adds newsletters with messages: the first is sent, the second is paused. Switches the endpoints off, so that no webhooks are sent. */
const messages = `
  insert into mailkeep_newsletter (client_id, uuid, created_at, name, subject, html, audience, status, updated_at,
      recipients, sent, is_prepared, is_announced)
    select 3, gen_random_uuid(), now(), 'n', 's', '', '{}', case i when 1 then 'sent' else 'paused' end, now(), 0, 0,
      true, true from generate_series(1, 2) i;
  insert into mailkeep_message (client_id, uuid, created_at, contact_id, newsletter_id, status, attempts, due_at)
    select 3, gen_random_uuid(), now(), i, 1, 'sent', 1, now() from generate_series(1, 30000) i union all
    select 3, gen_random_uuid(), now(), i, 2, 'pending', 0, now() from generate_series(1, 10000) i;
  update mailkeep_endpoint set active = false;
  analyze;`

/** Adds a newsletter and a sequence to the first client that are being sent to many contacts, and suppressed addresses. */
const sending = `
  insert into mailkeep_identity (client_id, uuid, created_at, updated_at, email, email_key, name, domain, identity_status)
    values (1, gen_random_uuid(), now(), now(), 'a@example.org', 'a@example.org', 'A', 'example.org', 'verified');
  insert into mailkeep_suppression (client_id, email_hash, email, email_key, reason, created_at)
    select 1, i, 'no' || i || '@example.org', 'no' || i || '@example.org', 'manual', now() from generate_series(1, 5000) i;
  insert into mailkeep_newsletter (client_id, uuid, created_at, name, subject, html, audience, status, updated_at,
      recipients, is_prepared, is_announced)
    values (1, gen_random_uuid(), now(), 'n', 's', '{{ unsubscribe_url }}', '{"lists": [1, 2, 3]}', 'sending', now(), 0, true, false);
  insert into mailkeep_message (client_id, uuid, created_at, contact_id, newsletter_id, status, attempts, due_at)
    select 1, gen_random_uuid(), now(), c.id, n.id, 'pending', 0, now() from mailkeep_contact c, mailkeep_newsletter n
    where c.client_id = 1 and n.client_id = 1;
  insert into mailkeep_sequence (client_id, uuid, created_at, name, status, updated_at, list_id)
    values (1, gen_random_uuid(), now(), 's', 'active', now(), 1);
  insert into mailkeep_step (sequence_id, position, delay_seconds, subject, html) values (1, 1, 0, 's', '{{ unsubscribe_url }}');
  insert into mailkeep_enrolment (client_id, sequence_id, contact_id, status, list_version, since, due_at, created_at)
    select 1, 1, id, 'active', 0, now(), now(), now() from mailkeep_contact where client_id = 1;
  insert into mailkeep_message (client_id, uuid, created_at, contact_id, sequence_id, step_id, status, attempts, due_at)
    select 1, gen_random_uuid(), now(), id, 1, 1, 'pending', 1, now() from mailkeep_contact where client_id = 1;
  analyze;`

/** Adds an endpoint's deliveries. */
const held = `
  insert into mailkeep_event (client_id, uuid, created_at, type, body)
    select 1, gen_random_uuid(), now(), 'newsletter.sent', '{}' from generate_series(1, 10000) i;
  insert into mailkeep_delivery (client_id, uuid, created_at, endpoint_id, event_id, event_type, status, attempts, due_at,
      ended_at)
    select 1, gen_random_uuid(), now(), 18, id, type, 'held', 0, now(), now() from mailkeep_event where contact_id is null;
  update mailkeep_endpoint set active = true where id = 18;`

/** Holds them all at one instant, as when their endpoint is switched off. */
const holdAtOnce = `
  update mailkeep_delivery set status = 'held', ended_at = date_trunc('hour', now()), claim = null, lease_until = null
    where endpoint_id = 18;
  analyze;`

interface Ran {
  readonly text: string
  readonly values: unknown[]
}

const ran: Ran[] = []

/** A client that records the statements of the library. */
class RecordingClient extends pg.Client {
  override query(...args: never[]): never {
    const [query] = args as unknown as [Ran | undefined]
    if (query?.values?.length) ran.push({ text: query.text, values: query.values })
    return (super.query as (...args: never[]) => never)(...args)
  }
}

interface Node {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Join Filter'?: number
  readonly 'Actual Loops': number
  readonly 'Shared Hit Blocks': number
  readonly 'Shared Read Blocks': number
  readonly Plans?: readonly Node[]
}

/** Maximum pages that a statement may read for a page of 25. A scan of all contacts reads tens of thousands. */
const maxPagesPerStatement = 4000

/** Maximum pairs of rows that a join may compare and leave out. */
const maxPairsPerJoin = 100_000

/** Maximum rows that a statement may sort or scan without an index. Counts stop at 1,000. */
const maxRowsPerSort = 2000

onPostgres('statements on PostgreSQL', () => {
  let mailkeep: Mailkeep
  let pool: pg.Pool

  before(async () => {
    if (!hasPostgres) return
    const { url, schema, ask } = await openPostgres({ schema: `plans_${process.pid}` })
    const options = `-c search_path=${schema} -c max_parallel_workers_per_gather=0`
    pool = new pg.Pool({ connectionString: url, options, Client: RecordingClient as never })
    await ask(`create schema ${schema}`)
    mailkeep = await createMailkeep({ database: postgres(pool), encryptionKey: Buffer.alloc(32) })
    await ask(seed)
    return async () => {
      await mailkeep.close()
      await pool.end()
    }
  })

  /** Returns the plans of the statements that `work` runs, each for its values and as a generic plan. */
  async function plansOf(
    work: () => Promise<unknown>,
    on = pool,
  ): Promise<{ text: string; mode: string; plan: Node }[]> {
    ran.length = 0
    await work()
    const plans = []
    const client = await on.connect()
    for (const { text, values } of ran.splice(0)) {
      if (!/^\W*(?:custom plan \*\/\s*)?(?:select|with|delete|update mailkeep_(?:message|attempt|event))/i.test(text))
        continue
      const isCustom = text.startsWith('/* custom plan */')
      for (const mode of isCustom ? ['custom'] : ['custom', 'generic']) {
        await client.query(`set plan_cache_mode = force_${mode}_plan`)
        await client.query(`prepare looked_at as ${text}`)
        const list = values.map(literal).join(', ')
        await client.query('begin')
        const { rows } = await client.query(`explain (analyze, buffers, format json) execute looked_at (${list})`)
        await client.query('rollback')
        await client.query('deallocate looked_at')
        plans.push({ text, mode, plan: rows[0]['QUERY PLAN'][0].Plan as Node })
      }
    }
    client.release()
    return plans
  }

  function literal(value: unknown): string {
    if (Array.isArray(value) && value.length === 0) return `'{}'`
    if (Array.isArray(value))
      return `array[${value.map(literal).join(', ')}]::${typeof value[0] === 'number' ? 'bigint' : 'text'}[]`
    return typeof value === 'string' ? pg.escapeLiteral(value) : String(value)
  }

  async function assertCheap(what: string, work: () => Promise<unknown>, on = pool): Promise<number> {
    const plans = await plansOf(work, on)
    for (const { text, mode, plan } of plans) {
      const why = `${what}, ${mode}\n${text}\n${JSON.stringify(plan, ['Node Type', 'Relation Name', 'Index Name', 'Plans', 'Actual Rows'], 1)}`
      assert.deepEqual(scanned(plan), [], why)
      assert.ok(largestSort(plan) <= maxRowsPerSort, `${largestSort(plan)} rows are sorted for ${why}`)
      assert.ok(largestJoin(plan) <= maxPairsPerJoin, `${largestJoin(plan)} pairs are compared for ${why}`)
      const pages = plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
      assert.ok(pages < maxPagesPerStatement, `${pages} pages for ${why}`)
    }
    return plans.length
  }

  test('of the contact listing read few pages, for every combination of filters', async () => {
    const client = mailkeep.forClient(1)
    const middle = Buffer.from('next:10000').toString('base64url')
    let seen = 0
    for (const query of combinations()) {
      for (const cursor of [{}, { cursor: middle }]) {
        seen += await assertCheap(JSON.stringify(query), () => client.contacts.list({ ...query, ...cursor }))
      }
    }
    assert.ok(seen > 300, `${seen} were seen`)
  })

  test('of the filters beyond the contract read few pages', async () => {
    const client = mailkeep.forClient(1)
    const hourMs = 3_600_000
    const [recent, yesterday] = [1, 24].map((hours) => new Date(Date.now() - hours * hourMs).toISOString())
    for (const query of [
      { email: 'USER77@example0.org' },
      { ids: [7, 8, 9, 10_001] },
      { exclude_lists: [1] },
      { exclude_tags: [2, 3] },
      { created_after: recent },
      { created_after: yesterday },
      { created_after: yesterday, tags: [2] },
      { created_before: '2020-01-01T00:00:00Z' },
      { unsubscribed: 'only' as const },
      { attributes: { plan: 'pro' } },
      { attributes: { plan: 'pro', city: 'city 8' } },
      { attributes: { plan: 'pro' }, lists: [1], search: 'user1999' },
      { segment: 1 },
      { segment: 1, lists: [2], attributes: { city: 'city 8' } },
    ]) {
      await assertCheap(JSON.stringify(query), () => client.contacts.list(query))
    }
  })

  test('of a listing read no members of lists, tags and topics before the cursor', async () => {
    const client = mailkeep.forClient(1)
    const cursor = Buffer.from('next:10000').toString('base64url')
    for (const filters of [
      { lists: [1] },
      { lists: [1, 2, 3] },
      { topics: [1] },
      { tags: [2] },
      { attributes: { plan: 'pro' } },
      { exclude_lists: [1] },
      { exclude_tags: [2] },
    ]) {
      for (const { text, plan } of await plansOf(() => client.contacts.list({ ...filters, cursor }))) {
        assert.ok(
          largestRead(plan) <= maxRowsPerSort,
          `${largestRead(plan)} rows are read for ${JSON.stringify(filters)}\n${text}`,
        )
      }
    }
  })

  test('of the few contacts with any of several tags read few rows, whatever else they must match', async () => {
    const client = mailkeep.forClient(1)
    for (const id of [1, 6001, 12_001]) await client.contacts.tag(id, { tags: ['vip'] })
    const { tags } = await client.contacts.get(1)
    const few = { tags: tags.map(({ id }) => id) }
    for (const filters of [
      few,
      { ...few, lists: [2] },
      { ...few, attributes: { plan: 'basic' } },
      { ...few, exclude_lists: [1] },
    ]) {
      for (const { text, plan } of await plansOf(() => client.contacts.list(filters))) {
        assert.ok(
          largestRead(plan) <= 500,
          `${largestRead(plan)} rows are read for ${JSON.stringify(filters)}\n${text}`,
        )
      }
    }
  })

  test('for a small client have other plans than for a large one', async () => {
    for (const search of ['user19990', 'example', 'nomatch']) {
      await assertCheap(search, () => mailkeep.forClient(2).contacts.list({ search }))
      await assertCheap(search, () => mailkeep.forClient(3).contacts.list({ search }))
    }
  })

  test('of single records and small listings read few pages', async () => {
    const client = mailkeep.forClient(1)
    await assertCheap('one contact', () => client.contacts.get(1000 + 1))
    await assertCheap('lists', () => client.lists.list())
    await assertCheap('tags', () => client.tags.list())
    await assertCheap('topics', () => client.topics.list(1))
    await assertCheap('identities', () => client.identities.list({ identity_status: 'verified' }))
    await assertCheap('a token', () => mailkeep.tokens.authenticate('mk_none'))
    await assertCheap('deliveries', () => client.webhooks.listDeliveries(2))
    for (const filters of [
      { status: 'success' },
      { status: 'pending' },
      { event_type: 'contact.unsubscribed' },
      { status: 'failed', event_type: 'newsletter.sent' },
      { since: '2020-01-01T00:00:00Z' },
    ] as const) {
      await assertCheap('filtered deliveries', () => client.webhooks.listDeliveries(2, filters))
      await assertCheap('all deliveries', () => client.webhooks.listAllDeliveries(filters))
    }
    await assertCheap('all deliveries', () => client.webhooks.listAllDeliveries())
    await assertCheap('the audit log', () => client.auditLog.list({ token: 1, type: 'tag.created' }))
    const [delivery] = (await client.webhooks.listDeliveries(2)).data
    await assertCheap('a delivery', () => client.webhooks.getDelivery(2, delivery!.id))
  })

  test('of writing and erasing read few pages', async () => {
    const client = mailkeep.forClient(1)
    await assertCheap('a contact', () => client.contacts.addToList(1, { email: 'new@x.org', tags: ['t1', 'new'] }))
    await assertCheap('a contact', () => client.contacts.addToList(2, { email: 'user1@example1.org', tags: ['t2'] }))
    await assertCheap('an event', () => client.events.raise({ type: 'newsletter.sent', data: {} }))
    await assertCheap('a test', () => client.webhooks.testEndpoint(1))
    await assertCheap('a contact', () => client.contacts.delete(1011))
    await assertCheap('an endpoint', () => client.webhooks.updateEndpoint(5, { active: false }))
  })

  test('of writing and erasing read few pages, also without statistics', async () => {
    const { url, schema, ask } = await openPostgres({ schema: `unknown_${process.pid}` })
    const options = `-c search_path=${schema} -c max_parallel_workers_per_gather=0`
    const fresh = new pg.Pool({ connectionString: url, options, Client: RecordingClient as never })
    await ask(`create schema ${schema}`)
    const own = await createMailkeep({ database: postgres(fresh), encryptionKey: Buffer.alloc(32) })
    const { rows } = await fresh.query(`select tablename from pg_tables where schemaname = '${schema}'`)
    const frozen = rows.map(({ tablename }) => `alter table ${tablename} set (autovacuum_enabled = false);`)
    await ask(frozen.join('') + seed.replace('analyze;', '') + delivered)
    const client = own.forClient(1)
    const cheap = (what: string, work: () => Promise<unknown>) => assertCheap(what, work, fresh)
    try {
      await cheap('a contact', () => client.contacts.addToList(1, { email: 'new@x.org', tags: ['t1', 'new'] }))
      await cheap('a contact', () => client.contacts.addToList(2, { email: 'user1@example1.org', tags: ['t2'] }))
      await cheap('an event', () => client.events.raise({ type: 'newsletter.sent', data: {} }))
      await cheap('a test', () => client.webhooks.testEndpoint(1))
      await cheap('an unsubscription', () => client.contacts.unsubscribe(1001))
      await cheap('an address', () => client.contacts.changeEmail(1002, { email: 'other@x.org' }))
      await cheap('a merge', () => client.contacts.merge(1012, { into: 1013 }))
      await cheap('an erasure', async () => {
        await client.contacts.delete(1011)
        await ask('update mailkeep_event set contact_id = 1011 where id = 1011') // so that the plans find it
      })
      await cheap('a batch', () =>
        client.contacts.batch(
          [...Array(20).keys()].flatMap((n) => [
            { op: 'upsert' as const, email: `user${n + 1}@example${(n + 1) % 7}.org`, tags: ['t1'] },
          ]),
        ),
      )
      await cheap('one contact', () => client.contacts.get(1000 + 1))
      await cheap('its data', async () => {
        for await (const part of client.contacts.data(1001)) assert.ok(part)
      })
      await cheap('its history', () => client.contacts.history(1000 + 1))
      await cheap('an endpoint', () => client.webhooks.updateEndpoint(5, { active: false }))
      await cheap('deliveries', () => client.webhooks.listDeliveries(2))
      await ask(groups)
      for (const { text, plan } of await plansOf(() => client.contacts.list(), fresh)) {
        assert.ok(largestRead(plan) <= maxRowsPerSort, `${largestRead(plan)} rows are read for a page\n${text}`)
      }
      const row = { email: 'back@example.org', lists: [{ id: 1, name: 'many 1' }], topics: ['t'] }
      for (const { text, plan } of await plansOf(async () => {
        const rows = [JSON.stringify({ ...row, tags: [], extra_attributes: {} })]
        const { created } = await own.forClient(2).contacts.import(null, rows, { format: 'ndjson' })
        assert.equal(created, 1)
      }, fresh)) {
        assert.ok(largestRead(plan) <= maxRowsPerSort, `${largestRead(plan)} rows are read for an import\n${text}`)
      }
    } finally {
      await own.close()
      await fresh.end()
      await ask(`drop schema ${schema} cascade`)
    }
  })

  test('of cancelling a newsletter read few pages, also beside many messages of another', async () => {
    const { newsletters } = mailkeep.forClient(3)
    await queryOnce(await databaseUrl(), `set search_path to plans_${process.pid}, public; ${messages}`)
    await assertCheap('messages', async () => {
      await newsletters.cancel(2)
      await mailkeep.deliverDue()
    })
    assert.deepEqual((await newsletters.get(2)).counts.skipped, 10_000)
  })

  test('of the mailer read few pages, also if a newsletter and a sequence have many recipients', async () => {
    const url = await databaseUrl()
    await queryOnce(url, `set search_path to plans_${process.pid}, public; ${sending}`)
    const { options } = pool.options
    const noting = new pg.Pool({ connectionString: url, options: options!, Client: RecordingClient as never })
    const transport = new CapturingTransport(Date.now)
    const mail = { transport, rate: 200 }
    const database = postgres(noting)
    const sender = await createMailkeep({
      database,
      encryptionKey: Buffer.alloc(32),
      mail,
      publicUrl: 'http://localhost',
    })
    const seen = await assertCheap('a round', async () => {
      sender.start()
      // Both are claimed in turn.
      for (let tries = 0; tries < 1000 && transport.captured.length < 20; tries++) {
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      await sender.close({ timeoutMs: 1000 })
    })
    await noting.end()
    assert.ok(seen > 10 && transport.captured.length > 0, `${seen} statements, ${transport.captured.length} mails`)
    await queryOnce(
      url,
      `delete from plans_${process.pid}.mailkeep_newsletter where client_id = 1;
      delete from plans_${process.pid}.mailkeep_sequence`,
    )
  })

  async function ask(sql: string): Promise<void> {
    await queryOnce(await databaseUrl(), `set search_path to plans_${process.pid}, public; ${sql}`)
  }

  /**
   * Vacuums when no older transaction is left that could see the dead rows, such as an analysis by autovacuum. One that
   * writes to another database counts, too: while it runs, each new snapshot of this database keeps the rows.
   */
  async function vacuum(table: string): Promise<void> {
    const url = await databaseUrl()
    const [{ now }] = (await queryOnce(url, 'select clock_timestamp()::text as now')) as [{ now: string }]
    const older = 'select 1 from pg_stat_activity where xact_start < $1'
    while ((await queryOnce(url, older, [now])).length > 0) await new Promise((done) => setTimeout(done, 20))
    await queryOnce(url, `vacuum plans_${process.pid}.${table}`)
  }

  /** Runs stored jobs until a condition holds, and then `restore`, so that the plans are of the statements as they ran. */
  async function runJobs(until: () => Promise<boolean>, restore: string): Promise<void> {
    const { options } = pool.options
    const noting = new pg.Pool({
      connectionString: await databaseUrl(),
      options: options!,
      Client: RecordingClient as never,
    })
    const working = await createMailkeep({ database: postgres(noting), encryptionKey: Buffer.alloc(32) })
    working.start()
    for (let tries = 0; tries < 1000 && !(await until()); tries++) await new Promise((done) => setTimeout(done, 20))
    await working.close({ timeoutMs: 0 })
    await noting.end()
    await ask(restore)
  }

  test('of deleting a tag compare few rows, also before the statistics know its contacts', async () => {
    const { tags } = mailkeep.forClient(1)
    const { id } = await tags.create({ name: 'all' })
    const tagAll = `insert into mailkeep_contact_tag select client_id, id, ${id} from mailkeep_contact where client_id = 1`
    await ask(`alter table mailkeep_contact_tag set (autovacuum_enabled = false); ${tagAll}`)
    await tags.delete(id)
    const tagged = `select 1 from plans_${process.pid}.mailkeep_contact_tag where tag_id = ${id} limit 1`
    await assertCheap('a batch', () => runJobs(async () => (await pool.query(tagged)).rowCount === 0, tagAll))
    await ask(`delete from mailkeep_contact_tag where tag_id = ${id}; delete from mailkeep_job`)
  })

  test('of a recovery read few pages, also if all deliveries were held at once', async () => {
    await ask(held + holdAtOnce)
    const { webhooks } = mailkeep.forClient(1)
    const { id } = await webhooks.recover(18, { since: new Date(Date.now() - 7_200_000).toISOString() })
    await assertCheap('a batch', async () => {
      await runJobs(async () => (await webhooks.getRecovery(18, id)).done > 0, holdAtOnce)
      await vacuum('mailkeep_delivery') // dead rows cost pages, too
    })
    assert.ok((await webhooks.getRecovery(18, id)).done > 0)
    await ask('delete from mailkeep_job')
  })

  test('of a listing by a list or tag of new contacts read no contacts before them', async () => {
    const client = mailkeep.forClient(1)
    const list = await client.lists.create({ name: 'newest' })
    const tag = await client.tags.create({ name: 'newest' })
    await pool.query(`
      insert into mailkeep_contact_list select 1, id, ${list.id} from mailkeep_contact where client_id = 1 and id > 18000;
      insert into mailkeep_contact_tag select 1, id, ${tag.id} from mailkeep_contact where client_id = 1 and id > 18000;
      analyze`)
    for (const filters of [
      { lists: [list.id] },
      { tags: [tag.id] },
      { lists: [1], tags: [tag.id] },
      { lists: [list.id], attributes: { plan: 'pro' } },
      { lists: [1], exclude_tags: [tag.id] },
      { lists: [list.id], tags: [1] },
    ]) {
      for (const { text, plan } of await plansOf(() => client.contacts.list(filters))) {
        assert.ok(
          largestRead(plan) <= maxRowsPerSort,
          `${largestRead(plan)} rows are read for ${JSON.stringify(filters)}\n${text}`,
        )
      }
    }
  })

  test('of the dispatcher read few pages, also beside an endpoint with a long backlog', async () => {
    const faults: object[] = []
    const logger: Logger = { debug() {}, info() {}, warn() {}, error: (fields) => void faults.push(fields) }
    const { url, schema } = { url: await databaseUrl(), schema: `plans_${process.pid}` }
    const noting = new pg.Pool({
      connectionString: url,
      options: pool.options.options!,
      Client: RecordingClient as never,
    })
    const dispatching = await createMailkeep({ database: postgres(noting), encryptionKey: Buffer.alloc(32), logger })
    await queryOnce(url, `set search_path to ${schema}, public; ${backlog}`)
    await assertCheap('a round', async () => {
      dispatching.start()
      await new Promise((resolve) => setTimeout(resolve, 300))
      await dispatching.close({ timeoutMs: 0 })
    })
    await noting.end()
    await assertCheap('an endpoint', () => mailkeep.forClient(1).webhooks.updateEndpoint(9, { active: false }))
    assert.ok(
      faults.every((fault) => /secret|sealed/i.test(JSON.stringify(fault) + String((fault as { err?: Error }).err))),
    )
    await queryOnce(url, `drop schema ${schema} cascade`)
  })
})

onPostgres('a turn of the dispatcher', () => {
  test('does not scan the deliveries while PostgreSQL has no statistics of them', async (t) => {
    const { url, schema, ask } = await openPostgres({ schema: `fresh_${process.pid}` })
    await ask(`create schema ${schema}`)
    t.after(() => queryOnce(url, `drop schema ${schema} cascade`))
    const receiver = await openReceiver(t)
    const webhooks = { allowPrivate: true, concurrency: 50, endpointConcurrency: 50 }
    const mailkeep = await createMailkeep({
      database: postgres(url, { schema }),
      encryptionKey: Buffer.alloc(32),
      webhooks,
    })
    const { client } = (await mailkeep.clients.bootstrap())!
    const acme = mailkeep.forClient(client.id)
    await acme.webhooks.createEndpoint({ url: receiver.url(), events: ['newsletter.sent'] })
    const batches = 8
    const perBatch = 250
    for (let batch = 0; batch < batches; batch++) {
      // Plans that are kept are made while the table is small.
      const event = { type: 'newsletter.sent', data: { newsletter: { id: batch }, counts: {} } } as const
      await acme.events.raiseMany(Array.from({ length: perBatch }, () => event))
      await mailkeep.deliverDue()
    }
    await mailkeep.close() // the server then counts what the connections have read
    const deliveries = batches * perBatch
    const read = await until('the server has counted', async () => {
      const [row] = await queryOnce(
        url,
        `select seq_tup_read, n_tup_upd from pg_stat_user_tables where schemaname = '${schema}' and relname = 'mailkeep_delivery'`,
      )
      return Number(row!.n_tup_upd) >= 2 * deliveries ? { rows: Number(row!.seq_tup_read) } : undefined
    })
    assert.ok(read.rows < deliveries, `${read.rows} rows were scanned for ${deliveries} deliveries`)
  })
})

/**
 * Returns large tables from which a scan without an index reads too many rows. A scan in which most rows match reads
 * few.
 */
function scanned(node: Node): string[] {
  const read = rowsRead(node)
  const isLong = node['Node Type'] === 'Seq Scan' && read > maxRowsPerSort && large.test(node['Relation Name'] ?? '')
  return [...(isLong ? [`${node['Relation Name']}: ${read} rows`] : []), ...(node.Plans ?? []).flatMap(scanned)]
}

function rowsRead(node: Node): number {
  return (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
}

/** Returns the largest number of rows that a part of the plan reads. */
function largestRead(node: Node): number {
  return Math.max(rowsRead(node), ...(node.Plans ?? []).map(largestRead))
}

/** Returns the rows of the largest sort. A limit above the sort does not make it cheaper. */
function largestSort(node: Node): number {
  const inner = node.Plans ?? []
  const own = node['Node Type'] === 'Sort' ? inner.map((one) => one['Actual Rows'] * one['Actual Loops']) : []
  return Math.max(0, ...own, ...inner.map(largestSort))
}

/** Returns the largest number of pairs of rows that a join compared and left out. */
function largestJoin(node: Node): number {
  const own = (node['Rows Removed by Join Filter'] ?? 0) * node['Actual Loops']
  return Math.max(own, ...(node.Plans ?? []).map(largestJoin))
}

const large = /^mailkeep_(contact|delivery|event|attempt|audit|message|enrolment|suppression)/

const choices = {
  lists: [undefined, [1, 2, 3]],
  tags: [undefined, [1], [1, 2, 3]],
  topics: [undefined, [1, 2]],
  search: [undefined, 'us', 'example', 'user1999'],
  include_unsubscribed: [false, true],
}

function* combinations(names = Object.keys(choices) as (keyof typeof choices)[]): Generator<Record<string, unknown>> {
  const [name, ...rest] = names
  if (!name) return yield {}
  for (const value of choices[name]) {
    for (const others of combinations(rest)) yield value === undefined ? others : { [name]: value, ...others }
  }
}
