/** The READMEs’ commands work as described: the first start on a terminal, and with redirected output. */
import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, readdir, rm, symlink } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { freePort } from '../support/free-port.ts'
import { sectionOf, shellBlocksOf } from '../support/markdown.ts'
import { commandLine, directory, run, runJson } from '../support/program.ts'

const root = join(import.meta.dirname, '../..')
/** Creates a working copy of the project, like a fresh clone after `npm ci`. */
async function workingCopy(t: TestContext): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), 'mailkeep-readme-'))
  t.after(() => rm(copy, { recursive: true, force: true }))
  const names = (await readdir(root)).filter((name) =>
    /^(?:daemon|lib|examples|package\.json|tsconfig\.json|\.gitignore)$/.test(name),
  )
  for (const name of names) await cp(join(root, name), join(copy, name), { recursive: true })
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'))
  return copy
}

const withPty = "import pty, sys; pty.spawn(['sh', '-c', sys.argv[1]])"
const hasPython = spawnSync('python3', ['-c', 'import pty']).status === 0
const hasScript = spawnSync('script', ['--version']).status === 0
const terminal = hasPython ? ['python3', '-c', withPty] : hasScript ? ['script', '-qfec'] : undefined

/** Returns the command to run a command line on a new terminal, or with its output in a pipe. */
function shell(words: string, onTerminal: boolean): string[] {
  if (!onTerminal) return ['sh', '-c', words]
  return hasPython ? [...terminal!, words] : [...terminal!, words, '/dev/null']
}

for (const onTerminal of [true, false]) {
  const how = onTerminal ? 'on a terminal' : 'with redirected output'
  const skip = onTerminal && !terminal && 'there is neither python3 nor script(1) to make a terminal'
  test(`the first session works ${how}, and leaves no file that git would add`, { skip }, async (t) => {
    const cwd = await workingCopy(t)
    const [port, receiverPort] = [String(await freePort()), await freePort()]
    const inherited = Object.entries(process.env).filter(([name]) => !/^MAILKEEP_|^NODE_/.test(name))
    const path = `${join(root, 'node_modules/.bin')}${delimiter}${process.env.PATH}`
    const env = { ...Object.fromEntries(inherited), PATH: path, MAILKEEP_PORT: port }
    const adapt = (block: string) => {
      const receiver = block
        .replaceAll('127.0.0.1:8080', `127.0.0.1:${receiverPort}`)
        .replaceAll('127.0.0.1:6245', `127.0.0.1:${port}`)
      return receiver.replace('examples/receive-webhook.ts', `examples/receive-webhook.ts ${receiverPort}`)
    }
    const [start = '', printed = '', ...session] = shellBlocksOf('README.md', '## A first session')
    const [fromFile = ''] = /TOKEN=\$\(cat [^)]*\)/.exec(sectionOf('README.md', '## A first session')) ?? []

    const [program = '', ...words] = shell(start, onTerminal)
    const daemon = spawn(program, words, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    const ended = once(daemon, 'exit')
    const stop = () => {
      try {
        process.kill(-daemon.pid!, 'SIGTERM')
      } catch {} // it has ended
    }
    t.after(stop)
    let said = ''
    for (const stream of [daemon.stdout, daemon.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        said += text
      })
    }
    while (!said.includes('Try it: '))
      await Promise.race([once(daemon.stdout, 'data'), ended.then(() => assert.fail(said))])

    const token = /not shown again: (mk_[\w-]{43})/.exec(said)?.[1]
    assert.equal(token !== undefined, onTerminal, said)
    const setToken = token === undefined ? fromFile : printed.replace('mk_PASTE_IT_HERE', token)
    assert.ok(token === undefined || setToken.includes(token))
    const imported = shellBlocksOf('daemon/api/README.md', '## Import and export')[0]!
    const script = ['set -eu', setToken, ...session, 'echo; echo IMPORT', imported].map(adapt).join('\n')
    const { stdout, stderr, status } = spawnSync('sh', ['-c', script], { cwd, env, encoding: 'utf8', timeout: 120_000 })
    assert.equal(status, 0, stdout + stderr)
    const [worked = '', importing = ''] = stdout.split('\nIMPORT\n')
    assert.match(
      worked,
      /"name":"News".*"secret":"whsec_.*\ncontact\.subscribed \{.*ada@example\.org.*"status":"success".*"unsubscribe_url".*Subject: Hello Ada.*<p>Hello Ada<\/p>/s,
    )

    const [, expected] = /```json\n(.*?)\n```/s.exec(sectionOf('daemon/api/README.md', '## Import and export')) ?? []
    const { data: promised } = JSON.parse(expected!)
    const { data: answered } = JSON.parse(importing.slice(0, importing.indexOf('}id,') + 1))
    assert.deepEqual(answered, promised)
    assert.match(importing, /^\d+,.*,ada@example\.org,.*\r\n\d+,.*,bob@example\.org,/m)

    stop()
    await ended
    execFileSync('git', ['init', '-q'], { cwd })
    const untracked = execFileSync('git', ['status', '--porcelain', '-uall'], { cwd, encoding: 'utf8' })
    const left = untracked
      .split('\n')
      .filter(
        (line) =>
          !/^(?:\?\? (?:daemon|lib|examples)\/|\?\? (?:package\.json|tsconfig\.json|\.gitignore|node_modules)$|$)/.test(
            line,
          ),
      )
    assert.deepEqual(left, [])
  })
}

test('a start whose port is in use ends immediately instead of waiting', async (t) => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.after(() => other.close())
  const { port } = other.address() as { port: number }
  const { err, code } = await run(['serve', '--port', String(port)], { cwd: await directory(t) })
  assert.equal(code, 1)
  assert.match(err, /in use by another program/)
})

test('the recipe for rotating the encryption key keeps every secret readable', async (t) => {
  const cwd = await directory(t)
  const place = { cwd }
  await run(['client', 'create', 'Acme'], place)
  const recipe = shellBlocksOf('daemon/README.md', '## Rotate the encryption key')[0]!
  const words = commandLine([]).map((word) => `'${word}'`)
  const script = ['set -eu', `mailkeep() { ${words.join(' ')} "$@"; }`, 'systemctl() { :; }', recipe].join('\n')
  const { status, stderr } = spawnSync('sh', ['-c', script], { cwd, encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  await rm(join(cwd, 'mailkeep.db.key.old'))
  assert.equal((await runJson<unknown[]>(['client', 'list'], place)).length, 1)
  const { healthy } = await runJson<{ healthy: boolean }>(['doctor', '--port', '0'], place)
  assert.ok(healthy)
})
