import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { needsPostgres } from '../support/databases.ts'
import { key, openKnownPlace, type Place, running } from '../support/postgres-program.ts'
import { errorLineOf, run, runJson } from '../support/program.ts'
import { openProxy } from '../support/tcp-proxy.ts'

interface Finding {
  readonly check: string
  readonly state: string
  readonly message: string
  readonly remedy?: string
}

async function findingsOf(place: Place, env: Record<string, string> = {}): Promise<Finding[]> {
  const surroundings = { ...place, env: { ...place.env, MAILKEEP_PORT: '0', ...env } }
  const { out, err } = await run(['doctor', '--json'], surroundings)
  assert.notEqual(out, '', err)
  return JSON.parse(out).findings
}

const faultsIn = (findings: readonly Finding[]) => findings.filter(({ state }) => state !== 'ok')

/** Asserts that the doctor finds exactly one fault. @returns That fault. */
async function onlyFault(place: Place, env: Record<string, string> = {}): Promise<string> {
  const [fault, ...others] = faultsIn(await findingsOf(place, env))
  assert.deepEqual(others, [])
  assert.equal(fault?.state, 'fault')
  assert.ok(fault.remedy)
  return `${fault.check}: ${fault.message}`
}

/** Connects as a new role that may connect and has only the rights that the test grants. */
async function asNewcomer(place: Place, use: (url: string, role: string) => Promise<void>): Promise<void> {
  const role = `mailkeep_test_${randomBytes(4).toString('hex')}`
  const { PGPASSWORD: password = 'geheim' } = process.env // the server that the tests start asks for one
  await place.ask(`create role ${role} login password '${password}'`)
  try {
    const url = new URL(place.url)
    url.username = role
    await use(url.href, role)
  } finally {
    await place.ask(`drop owned by ${role}`)
    await place.ask(`drop role ${role}`)
  }
}

describe('the doctor on PostgreSQL', { ...needsPostgres, concurrency: 4 }, () => {
  test('finds no fault before the first start, and changes nothing', async (t) => {
    const place = await openKnownPlace(t)
    const findings = await findingsOf(place)
    assert.deepEqual(faultsIn(findings), [])
    assert.match(findings.find(({ check }) => check === 'database')!.message, /^PostgreSQL \d+\.\d+.* at postgres/)
    assert.deepEqual(await place.ask('select to_regnamespace($1) as there', [place.schema]), [{ there: null }])
  })

  test('names a pooler that drops the settings of connections', async (t) => {
    const place = await openKnownPlace(t)
    const url = new URL(place.url)
    const proxy = await openProxy({ host: url.hostname, port: Number(url.port || 5432) })
    t.after(() => proxy.close())
    proxy.dropSettings()
    url.host = `127.0.0.1:${proxy.port}`
    const fault = await onlyFault(place, { MAILKEEP_DATABASE: url.href })
    assert.match(fault, /^database: A pooler .* set MAILKEEP_DATABASE_POOLER=true/)
  })

  test('finds no fault beside a running daemon', async (t) => {
    const place = await openKnownPlace(t)
    await running(t, place)
    const findings = await findingsOf(place)
    assert.deepEqual(faultsIn(findings), [])
    for (const check of ['database', 'rights', 'schema', 'key', 'search', 'clock', 'connections']) {
      assert.ok(
        findings.some((found) => found.check === check),
        check,
      )
    }
  })

  test('names each fault, and says what to do about it', async (t) => {
    const place = await openKnownPlace(t)
    assert.equal((await run(['migrate'], place)).code, 0)
    const nowhere = 'postgres://postgres@127.0.0.1:1/nothing'
    assert.match(await onlyFault(place, { MAILKEEP_DATABASE: nowhere }), /^database: .*ECONNREFUSED/)
    const readOnly = `${place.url}?options=-c%20default_transaction_read_only%3Don`
    const [writable, ...others] = faultsIn(await findingsOf(place, { MAILKEEP_DATABASE: readOnly }))
    assert.deepEqual([writable?.state, others], ['warning', []])
    assert.match(writable!.message, /has default_transaction_read_only on, but mailkeep writes$/)
    await asNewcomer(place, async (url, role) => {
      await place.ask(`alter role ${role} connection limit 0`)
      const [full] = faultsIn(await findingsOf(place, { MAILKEEP_DATABASE: url }))
      assert.match(`${full!.message}: ${full!.remedy}`, /too many connections for role \S+: raise max_connections or/)
    })
    assert.match(await onlyFault(place, { MAILKEEP_ENCRYPTION_KEY: '' }), /^key: .*is needed/)
    const otherKey = Buffer.alloc(32, 8).toString('base64')
    assert.match(
      await onlyFault(place, { MAILKEEP_ENCRYPTION_KEY: otherKey }),
      /^key: MAILKEEP_ENCRYPTION_KEY is not the database's key/,
    )
    await place.ask('drop index mailkeep_contact_search')
    const [search] = faultsIn(await findingsOf(place))
    assert.deepEqual([search?.check, search?.state], ['search', 'warning'])
    await place.ask('drop table mailkeep_attempt')
    const missing = faultsIn(await findingsOf(place)).find(({ check }) => check === 'schema')
    assert.deepEqual([missing?.state, missing?.message], ['fault', 'the table mailkeep_attempt is missing'])
    await place.ask(`insert into mailkeep_migration values ('999-later', now())`)
    const later = faultsIn(await findingsOf(place)).map(({ check, message }) => `${check}: ${message}`)
    assert.match(later.join('\n'), /^schema: a newer mailkeep was here \(999-later\)/m)
  })

  test('finds no fault in a schema with capital letters, and commands and a copy work there', async (t) => {
    const known = await openKnownPlace(t)
    const inSchema = (MAILKEEP_DATABASE_SCHEMA: string) => ({
      ...known,
      env: { ...known.env, MAILKEEP_DATABASE_SCHEMA },
    })
    const place = inSchema(`Odd_${known.schema}`)
    await runJson(['client', 'create', 'Acme'], place)
    assert.deepEqual(faultsIn(await findingsOf(place)), [])
    const clients = await runJson<{ name: string }[]>(['client', 'list'], place)
    assert.deepEqual(
      clients.map(({ name }) => name),
      ['Acme'],
    )
    await runJson(['client', 'create', 'Moved'], { cwd: place.cwd, env: { MAILKEEP_ENCRYPTION_KEY: key } })
    const copied = inSchema(`Copy_${known.schema}`)
    const { rows } = await runJson<{ rows: Record<string, number> }>(
      ['copy', '--from', 'mailkeep.db', '--to', place.url],
      copied,
    )
    assert.equal(rows.client, 1)
  })

  test('reports the privileges that a role lacks', async (t) => {
    const place = await openKnownPlace(t)
    await asNewcomer(place, async (url, role) => {
      const env = { MAILKEEP_DATABASE: url }
      assert.match(await onlyFault(place, env), /^rights: the search path names no schema/)
      await place.ask(`create schema ${place.schema}`)
      await place.ask(`grant usage on schema ${place.schema} to ${role}`)
      assert.match(await onlyFault(place, env), /^rights: this role may not create tables/)
      assert.equal((await run(['migrate'], place)).code, 0)
      assert.match(await onlyFault(place, env), /^rights: this role may not read and write mailkeep_attempt, /)
      await place.ask(`grant select, insert, update, delete on all tables in schema ${place.schema} to ${role}`)
      assert.deepEqual(faultsIn(await findingsOf(place, env)), [])
      const daemon = await running(t, { ...place, env: { ...place.env, ...env } })
      assert.equal((await daemon.api('POST', '/tags', { name: 'vip' })).status, 201)
      await daemon.stop()
      await place.ask(`grant create on schema ${place.schema} to ${role}`)
      await place.ask(`delete from ${place.schema}.mailkeep_migration where name = '027-address-keys'`)
      const [rights] = faultsIn(await findingsOf(place, env))
      assert.match(rights!.message, /^only their owner may migrate the tables, and they belong to \w+$/)
      assert.match(rights!.remedy!, /^run mailkeep migrate as \w+$/)
      await place.ask(`delete from ${place.schema}.mailkeep_migration where name = '026-list-versions'`)
      const line = await errorLineOf(['migrate'], { ...place, env: { ...place.env, ...env } })
      assert.match(line, /lacks rights \(must be owner of .+\): run mailkeep migrate as the role that owns the tables/)
    })
  })
})
