/**
 * Runs a daemon for a given time under a mixed load with faults. Memory, handles, the write-ahead log and the slowest
 * answers must not grow. `npm run test:soak -- --minutes 20 [--rate 200]`
 */
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { buildBundle } from '../../.ci/build-binary.ts'
import { descriptors, megabytes, quantile, residentMb, type Sample, verdicts } from './gauges.ts'
import { Load } from './load.ts'
import { plotOf } from './plot.ts'

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '20' }, rate: { type: 'string', default: '200' } },
})
const minutes = Number(values.minutes)
const say = (line: string) => void process.stdout.write(`${line}\n`)

const output = join(import.meta.dirname, '../../.soak')
const samplesWanted = 60
const token = `soak-${'t'.repeat(40)}`

/** Starts receivers in a process that is killed every 15 s and restarted 3 s later. */
async function openReceivers() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  let [closing, kills] = [false, 0]
  let child: ChildProcess | undefined
  const begin = () => {
    if (!closing)
      child = fork(join(import.meta.dirname, 'receiver.ts'), [String(port)], { execArgv: ['--import', 'tsx'] })
  }
  begin()
  const timer = setInterval(() => {
    child?.kill('SIGKILL')
    kills++
    setTimeout(begin, 3_000)
  }, 15_000)
  const close = () => {
    closing = true
    clearInterval(timer)
    child?.kill('SIGKILL')
  }
  return { port, kills: () => kills, close }
}

async function openDaemon(directory: string) {
  await buildBundle(directory)
  const file = join(directory, 'soak.db')
  const child = spawn(
    process.execPath,
    [join(directory, 'mailkeep.cjs'), '--port', '0', '--json', '--database', file],
    {
      env: {
        PATH: process.env.PATH,
        MAILKEEP_ADMIN_TOKEN: token,
        MAILKEEP_LOG_LEVEL: 'warn',
        MAILKEEP_WEBHOOK_ALLOW_PRIVATE: 'true',
        MAILKEEP_WEBHOOK_RETRY_SCHEDULE: '1,5,30',
        MAILKEEP_WEBHOOK_TIMEOUT_SECONDS: '3',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  return { child, file, pid: child.pid!, port: (JSON.parse(String(line)) as { port: number }).port }
}

/** Creates three lists, and an endpoint for each behaviour of a receiver. */
async function createRecords(load: Load, receiverPort: number): Promise<void> {
  for (const name of ['News', 'Offers', 'Events'])
    await load.ask({ method: 'POST', path: '/lists', body: { name }, allowed: [201] })
  const events = ['contact.subscribed', 'contact.unsubscribed', 'newsletter.sent']
  for (const path of ['ok', 'fail', 'hang', 'reset', 'slow', 'busy']) {
    const body = { url: `http://127.0.0.1:${receiverPort}/${path}`, events }
    await load.ask({ method: 'POST', path: '/webhook-endpoints', body, allowed: [201] })
  }
}

async function soak(directory: string): Promise<{ samples: Sample[]; wrong: Map<string, number>; kills: number }> {
  const receivers = await openReceivers()
  const { child, file, pid, port } = await openDaemon(directory)
  const rate = Number(values.rate)
  try {
    const furnisher = new Load(port, token, 0)
    await createRecords(furnisher, receivers.port)
    furnisher.stop()
    const load = new Load(port, token, rate)
    const samples: Sample[] = []
    const startedMs = performance.now()
    const everyMs = Math.max(1_000, (minutes * 60_000) / samplesWanted)
    say(header)
    while (performance.now() - startedMs < minutes * 60_000) {
      await new Promise((resolve) => setTimeout(resolve, everyMs))
      const tookMs = load.counts.tookMs.splice(0)
      const sample: Sample = {
        seconds: (performance.now() - startedMs) / 1000,
        residentMb: residentMb(pid),
        descriptors: descriptors(pid),
        walMb: megabytes(`${file}-wal`),
        databaseMb: megabytes(file),
        requests: tookMs.length,
        p50: quantile(tookMs, 0.5),
        p99: quantile(tookMs, 0.99),
      }
      samples.push(sample)
      say(row(sample))
    }
    load.stop()
    const { wrong } = load.counts
    for (const [what, count] of furnisher.counts.wrong) wrong.set(what, count)
    return { samples, wrong, kills: receivers.kills() }
  } finally {
    receivers.close()
    child.kill('SIGTERM')
    await once(child, 'close')
  }
}

const columns = ['seconds', 'memory MB', 'handles', 'WAL MB', 'db MB', 'answers', 'p50 ms', 'p99 ms']
const header = columns.map((name) => name.padStart(10)).join('')

function row({
  seconds,
  residentMb: memory,
  descriptors: handles,
  walMb,
  databaseMb,
  requests,
  p50,
  p99,
}: Sample): string {
  const cells = [seconds, memory, handles, walMb, databaseMb, requests, p50, p99]
  return cells.map((value, at) => value.toFixed([0, 1, 0, 1, 1, 0, 1, 1][at]).padStart(10)).join('')
}

const directory = await mkdtemp(join(tmpdir(), 'mailkeep-soak-'))
try {
  const { samples, wrong, kills } = await soak(directory)
  await mkdir(output, { recursive: true })
  await writeFile(join(output, 'soak.svg'), plotOf(samples))
  say(`\n${'what'.padEnd(14)}${'2nd quarter'.padStart(12)}${'last'.padStart(10)}${'at most'.padStart(10)}`)
  const results = verdicts(samples)
  for (const { name, second, last, most, flat } of results) {
    const cells = `${second.toFixed(1).padStart(12)}${last.toFixed(1).padStart(10)}${most.toFixed(1).padStart(10)}`
    say(`${name.padEnd(14)}${cells}  ${flat ? 'flat' : 'GROWS'}`)
  }
  say(`\nReceivers were killed ${kills} times. Unexpected answers: ${wrong.size === 0 ? 'none' : ''}`)
  for (const [what, count] of wrong) say(`  ${count} × ${what}`)
  say(`Plot: ${join(output, 'soak.svg')}`)
  if (wrong.size > 0 || results.some(({ flat }) => !flat)) process.exitCode = 1
} finally {
  await rm(directory, { recursive: true, force: true })
}
