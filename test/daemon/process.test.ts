/** The daemon as a process: when its log is not read, and when its terminal is closed. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { commandLine, directory } from '../support/program.ts'
import { assertFaster } from '../support/timing.ts'

const token = 'admin-token-0123456789-0123456789'

/** Starts a daemon whose standard error is a pipe that is read only when the test does so. */
async function openUnread(t: TestContext) {
  const [program = '', ...words] = commandLine(['--port', '0', '--database', ':memory:', '--json'])
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('MAILKEEP_'))
  const env = { ...Object.fromEntries(inherited), MAILKEEP_ADMIN_TOKEN: token }
  const child = spawn(program, words, { cwd: await directory(t), env, stdio: ['ignore', 'pipe', 'pipe'] })
  const closed = once(child, 'exit') as Promise<[number | null, string | null]>
  t.after(() => child.kill('SIGKILL'))
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  const { port } = JSON.parse(line.toString()) as { port: number }
  return { child, closed, port }
}

/** Sends requests on one connection and waits for all answers. Each writes a line of about 300 bytes to the log. */
async function request(port: number, count: number): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  const id = 'r'.repeat(128)
  const one = `GET /api/v1/tags HTTP/1.1\r\nHost: x\r\nX-Request-Id: ${id}\r\n\r\n`
  socket.write(one.repeat(count - 1))
  socket.end(one.replace('Host', 'Connection: close\r\nHost'))
  let answers = 0
  for await (const chunk of socket) answers += String(chunk).split('HTTP/1.1 401').length - 1
  assert.ok(answers > count - 10, `${answers} of ${count} requests were answered`)
}

const lineCount = 8000 // lines: twice what the pipe and the log buffer can hold

describe('a log that is not read', () => {
  test('does not stop the daemon from answering or from shutting down', async (t) => {
    const { child, closed, port } = await openUnread(t)
    await request(port, lineCount)
    const startedMs = performance.now()
    child.kill('SIGTERM')
    assert.deepEqual(await closed, [0, null])
    assertFaster(performance.now() - startedMs, 10_000, 'the shutdown')
  })

  test('loses lines beyond a limit, and reports their number when it is read again', async (t) => {
    const { child, closed, port } = await openUnread(t)
    await request(port, lineCount)
    let text = ''
    child.stderr.setEncoding('utf8').on('data', (chunk) => {
      text += chunk
    })
    while (!text.includes('log lines were dropped')) await once(child.stderr, 'data')
    child.kill('SIGTERM')
    await closed
    const lines = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { msg: string; dropped?: number })
    const logged = lines.filter(({ msg }) => msg === 'request').length
    const dropped = lines.reduce((sum, line) => sum + (line.dropped ?? 0), 0)
    assert.equal(logged + dropped, lineCount)
    assert.ok(dropped > 0 && Buffer.byteLength(text) < 2 * 1024 * 1024, `${dropped} lines, ${text.length} bytes`)
  })
})

describe('SIGHUP, as a terminal sends it when it is closed', () => {
  test('stops the daemon as SIGTERM does: the request in progress is finished', async (t) => {
    const { child, closed, port } = await openUnread(t)
    const socket = connect(port, '127.0.0.1').setEncoding('utf8')
    socket.write(`POST /api/v1/tags HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nExpect: 100-continue\r\n`)
    socket.write('Content-Type: application/json\r\nContent-Length: 12\r\n\r\n')
    await once(socket, 'data') // after 100 Continue the request is certainly in progress
    child.kill('SIGHUP')
    const refused = () =>
      fetch(`http://127.0.0.1:${port}/`).then(
        () => false,
        () => true,
      )
    while (!(await refused()));
    socket.write('{"name":"x"}')
    let answer = ''
    for await (const chunk of socket) answer += chunk
    assert.match(answer, /HTTP\/1.1 201 .*"name":"x"/s)
    assert.deepEqual(await closed, [0, null])
  })
})
