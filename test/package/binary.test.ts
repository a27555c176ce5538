import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, copyFile, mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, type TestContext, test } from 'node:test'
import { ensureBinary } from '../../.ci/build-binary.ts'
import { version } from '../../lib/index.ts'
import { databaseUrl, needsPostgres } from '../support/databases.ts'
import { openReceiver } from '../support/http-receiver.ts'
import { collect, directory, type Environment, listening } from '../support/program.ts'

const isRoot = process.getuid?.() === 0
const otherUserId = 65_534

let built = ''
before(
  async () => {
    built = process.env.MAILKEEP_TEST_BINARY ?? (await ensureBinary())
  },
  { timeout: 300_000 },
)

/** Prepares the binary, a read-only working directory, a data directory and a temporary directory. */
async function bare(t: TestContext) {
  const place = await directory(t)
  const [binary, cwd, data, temporary] = ['mailkeep', 'cwd', 'data', 'tmp'].map((name) => join(place, name)) as [
    string,
    string,
    string,
    string,
  ]
  await copyFile(built, binary)
  await chmod(binary, 0o755)
  await chmod(place, 0o755)
  for (const path of [cwd, data, temporary]) await mkdir(path, { mode: 0o700 })
  if (isRoot) for (const path of [cwd, data, temporary]) await chown(path, otherUserId, otherUserId)
  await chmod(cwd, 0o500)
  const launch = (args: readonly string[], env: Environment = {}) => {
    const child = spawn(binary, args, {
      cwd,
      env: { PATH: '', TMPDIR: temporary, MAILKEEP_DATABASE: join(data, 'mailkeep.db'), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(isRoot ? { uid: otherUserId, gid: otherUserId } : {}),
    })
    t.after(() => child.kill('SIGKILL'))
    return { child, said: collect(child), closed: once(child, 'close') as Promise<[number | null, string | null]> }
  }
  const run = async (...args: string[]) => {
    const { said, closed } = launch(args)
    const [code] = await closed
    return { ...said, code }
  }
  const serve = async () => {
    const { child, said, closed } = launch(['--port', '0', '--json'], { MAILKEEP_WEBHOOK_ALLOW_PRIVATE: 'true' })
    return await listening(child, said, closed, data)
  }
  return { cwd, data, temporary, run, serve, launch }
}

describe('the binary alone, as another user', () => {
  test('answers the API, delivers webhooks, and stops on a signal', async (t) => {
    const { cwd, data: dataDirectory, temporary, serve } = await bare(t)
    const { url, data, ask, child, stop } = await serve()
    const receiver = await openReceiver()
    t.after(() => receiver.close())
    const { id: listId } = await data<{ id: number }>('POST', '/lists', { name: 'News' })
    const endpoint = { url: receiver.url(), events: ['contact.subscribed'] }
    await data('POST', '/webhook-endpoints', endpoint)
    await data('POST', `/lists/${listId}/contacts`, { email: 'ada@example.org', name: 'Ada', tags: ['vip'] })
    const { headers, raw } = await receiver.next()
    assert.equal(headers['x-service-event'], 'contact.subscribed')
    assert.equal(JSON.parse(raw.toString()).data.contact.email, 'ada@example.org')
    assert.equal((await data<unknown[]>('GET', '/contacts?search=ADA')).length, 1)
    assert.equal((await ask('GET', '/readyz')).status, 200)
    assert.match(await (await fetch(`${url}/metrics`)).text(), /^mailkeep_endpoints\{state="active"\} 1$/m)

    // The addon has been loaded and its temporary file deleted.
    assert.deepEqual(await readdir(temporary), [])
    if (process.platform === 'linux') {
      assert.match(await readFile(`/proc/${child.pid}/maps`, 'utf8'), /better_sqlite3\.node \(deleted\)/)
    }
    assert.deepEqual(await stop(), [0, null])
    assert.deepEqual(await readdir(cwd), [])
    const files = ['mailkeep.db', 'mailkeep.db.admin-token', 'mailkeep.db.key', 'mailkeep.db.process-1']
    assert.deepEqual(await readdir(dataDirectory), files)
  })

  test('serves with several processes', async (t) => {
    const { launch } = await bare(t)
    const env = { MAILKEEP_PORT: '0', MAILKEEP_PROCESSES: '2' }
    for (const args of [['--json'], ['serve', '--json']]) {
      const { child, said, closed } = launch(args, env)
      while (!said.out.includes('\n')) await Promise.race([once(child.stdout!, 'data'), closed])
      const { url } = JSON.parse(said.out)
      const page = await (await fetch(`${url}/metrics`)).text()
      assert.match(page, /^mailkeep_processes [12]$/m)
      child.kill('SIGTERM')
      assert.deepEqual(await closed, [0, null], said.err)
    }
  })

  test('has all commands: it restores a backup, and its doctor finds no fault', async (t) => {
    const { data, run, serve } = await bare(t)
    const daemon = await serve()
    const backup = join(data, 'copy.db')
    assert.equal((await run('backup', backup)).code, 0)
    assert.match((await run('restore', backup)).err, /in use/)
    await daemon.stop()
    assert.equal((await run('restore', backup)).code, 0)
    const { out, err, code } = await run('doctor', '--port', '0', '--json')
    assert.equal(code, 0, err + out)
    assert.deepEqual((JSON.parse(out) as { healthy: boolean }).healthy, true)
  })

  test(
    'supports PostgreSQL too, and creates no first token that it could not write anywhere',
    needsPostgres,
    async (t) => {
      const { data, temporary, launch } = await bare(t)
      const database = {
        MAILKEEP_DATABASE: await databaseUrl(),
        MAILKEEP_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
      }
      const refused = launch(['--port', '0'], database)
      assert.equal((await refused.closed)[0], 1)
      assert.match(
        refused.said.err,
        /^mailkeep: The first token cannot be written to .*EACCES.*MAILKEEP_ADMIN_TOKEN_FILE/,
      )
      const env = { ...database, MAILKEEP_ADMIN_TOKEN: 'first-0123456789-0123456789-0123456789' }
      const { child, said, closed } = launch(['--port', '0', '--json'], env)
      const { url, stop } = await listening(child, said, closed, data)
      const answer = await fetch(`${url}/api/v1/tags`, {
        headers: { authorization: 'Bearer first-0123456789-0123456789-0123456789' },
      })
      assert.equal(answer.status, 200)
      assert.deepEqual(await readdir(temporary), [])
      assert.deepEqual(await stop(), [0, null])
    },
  )

  test('prints its version and the commit it was built from', async (t) => {
    const { run } = await bare(t)
    const { out, code } = await run('--version')
    assert.match(out, new RegExp(`^mailkeep, ${version.replaceAll('.', '\\.')} \\(\\S.*\\)\n$`))
    assert.equal(code, 0)
  })

  test('explains in one line that the temporary directory does not allow programs to run', async (t) => {
    const { temporary, run } = await bare(t)
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'noexec,mode=1777', 'tmpfs', temporary], { stdio: 'ignore' })
    } catch {
      t.skip('nothing can be mounted here')
      return
    }
    try {
      const { out, err, code } = await run('migrate')
      assert.equal(out, '')
      const line = `The SQLite addon cannot be loaded: ${temporary} does not let programs run (noexec).`
      assert.equal(err, `mailkeep: ${line} Set TMPDIR to a directory where it may.\n`)
      assert.equal(code, 1)
      const doctor = await run('doctor')
      assert.match(doctor.out, new RegExp(`^FAULT +database +${line.replaceAll(/[().]/g, '\\$&')} Set TMPDIR`, 'm'))
      assert.equal(doctor.code, 1)
      assert.deepEqual(await readdir(temporary), [])
    } finally {
      execFileSync('umount', [temporary])
    }
  })

  test('explains in one line that the temporary directory cannot be written', async (t) => {
    const { temporary, run } = await bare(t)
    await chmod(temporary, 0o500)
    const { out, err, code } = await run('migrate')
    assert.equal(out, '')
    assert.match(
      err,
      /^mailkeep: The SQLite addon cannot be loaded: \S+ cannot be used: EACCES: permission denied\. Set TMPDIR/,
    )
    assert.equal(code, 1)
  })

  test('stops with one line when the directory of its database is read-only', async (t) => {
    const { data, run } = await bare(t)
    await chmod(data, 0o500)
    const { out, err, code } = await run('serve', '--port', '0')
    assert.equal(out, '')
    assert.match(err, /^mailkeep: .*EACCES.*\n$/)
    assert.equal(code, 1)
    const doctor = await run('doctor')
    assert.match(doctor.out, /^FAULT +permissions .*\n +→ chown it to the user mailkeep runs as$/m)
    assert.equal(doctor.code, 1)
  })

  test('its doctor says that a file which cannot be written needs another owner, not a backup', {
    skip: !isRoot,
  }, async (t) => {
    const { data, run } = await bare(t)
    await run('migrate')
    const path = join(data, 'mailkeep.db')
    await chown(path, 0, 0)
    const { out, code } = await run('doctor')
    const line = `${path} cannot be read and written by this user`
    assert.match(out, new RegExp(`^FAULT +permissions +${line}\\n +→ chown it to the user mailkeep runs as$`, 'm'))
    assert.doesNotMatch(out, /backup/)
    assert.equal(code, 1)
  })

  test('stops with one line on a read-only file system, which its doctor names', async (t) => {
    const { data, run } = await bare(t)
    await run('migrate')
    try {
      execFileSync('mount', ['--bind', data, data], { stdio: 'ignore' })
    } catch {
      t.skip('nothing can be mounted here')
      return
    }
    try {
      execFileSync('mount', ['-o', 'remount,bind,ro', data])
      assert.match(
        (await run('client', 'list')).err,
        /^mailkeep: The database \S+ cannot be opened .*See mailkeep doctor\.\n$/,
      )
      const { out, code } = await run('doctor')
      assert.match(
        out,
        new RegExp(`^FAULT +permissions +${data} is on a read-only file system\\n +→ mount it writable`, 'm'),
      )
      assert.doesNotMatch(out, /chown/)
      assert.equal(code, 1)
    } finally {
      execFileSync('umount', [data])
    }
  })
})
