/** Measures the daemon's start and its memory when idle. */
import { writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { buildBundle } from '../../.ci/build-binary.ts'
import { freePort } from '../support/free-port.ts'
import { Child, daemonSettings, Server } from './children.ts'
import { atMost, type Bench, type Figure, interleave, ratioOf, short, smallest } from './harness.ts'
import { token } from './population.ts'
import { discard, scratch } from './seed.ts'
import { median } from './summary.ts'

const root = join(import.meta.dirname, '../..')

/** The file that the build produces for users. */
const bundle = 'mailkeep.cjs'

/** Measures a restart on an existing database. */
export const start: Figure = async (bench) => {
  await buildBundle(bench.folder)
  const file = await scratch(bench.folder, smallest(bench))
  const hello = join(bench.folder, 'hello.cjs')
  await writeFile(
    hello,
    `require('http').createServer((_, res) => res.end('hello')).listen(+process.env.MAILKEEP_PORT)`,
  )
  const tsx = join(root, 'node_modules/.bin/tsx')
  const { bare, bundled, source } = await interleave(2 * bench.rounds + 1, {
    bare: () => toFirstAnswer([process.execPath, hello], file),
    bundled: () => toFirstAnswer([process.execPath, join(bench.folder, bundle)], file),
    source: () => toFirstAnswer([tsx, join(root, 'daemon/main.ts')], file),
  })
  await discard(file)
  const ceiling = `${short(median(bare))} ms`
  const [ratio, slow] = [ratioOf(bundled, bare), ratioOf(source, bare)]
  const figure = `${short(median(bundled))} ms`
  return [
    { name: 'start', figure, ceiling, ratio, target: atMost(ratio, 1.6), details: { bare, bundled } },
    { name: 'start: by tsx', figure: `${short(median(source))} ms`, ceiling, ratio: slow, details: { source } },
  ]
}

/** Returns the milliseconds from spawning the process to its first answer. */
async function toFirstAnswer(command: readonly string[], file: string): Promise<number> {
  const port = await freePort()
  const startedMs = performance.now()
  await using _ = new Child(0, command, { ...daemonSettings(file), MAILKEEP_PORT: String(port) }, false)
  while (!(await answers(port))) await delay(1)
  return performance.now() - startedMs
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const sent = request({ port, path: '/api/v1/tags', headers: { authorization: `Bearer ${token}` }, agent: false })
    sent.on('response', (response) => {
      response.resume()
      resolve(response.statusCode === 200)
    })
    sent.on('error', () => resolve(false))
    sent.end()
  })
}

export const memory: Figure = async (bench: Bench) => {
  const file = await scratch(bench.folder, smallest(bench))
  await buildBundle(bench.folder)
  const samples: number[] = []
  for (let round = 0; round < Math.min(3, bench.rounds); round++) {
    await using server = await Server.mailkeep(bench, file, { MAILKEEP_DISPATCH: 'true' }, bundle)
    await delay(3000)
    samples.push(server.residentMb())
  }
  await discard(file)
  const mb = median(samples)
  return [{ name: 'memory', figure: `${short(mb)} MB idle`, target: atMost(mb, 70, ' MB'), details: samples }]
}
