/**
 * `npx tsx test/bench/functions.ts` counts the named functions of lib/ and daemon/ that the save of a new contact passes, by
 * the library and over HTTP, and that an event passes from its raise to its recorded delivery. `--list` names them.
 */
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type Profiler, Session } from 'node:inspector/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { createHandler } from '../../daemon/http/index.ts'
import { createMailkeep } from '../../lib/index.ts'
import { sqlite } from '../../lib/sqlite.ts'

/** Time for what follows an answer: the wake-up of the dispatcher, the record of a delivery. */
const settleMs = 500
const countedRuns = 5

const folder = await mkdtemp(join(tmpdir(), 'mailkeep-functions-'))
const receiver = createServer((req, res) => req.resume().on('end', () => res.end()))
const mailkeep = await createMailkeep({
  database: sqlite(join(folder, 'mail.db')),
  encryptionKey: Buffer.alloc(32, 1),
  webhooks: { allowPrivate: true, ports: [await portOf(receiver)] },
})
const client = await mailkeep.clients.create({ name: 'acme' })
const acme = mailkeep.forClient(client.id)
const list = await acme.lists.create({ name: 'News' })
const { port } = receiver.address() as AddressInfo
await acme.webhooks.createEndpoint({
  url: `http://127.0.0.1:${port}/`,
  events: ['contact.subscribed', 'newsletter.sent'],
})
const { token } = await mailkeep.tokens.create({ clientId: client.id, role: 'member' })
const api = createServer(createHandler({ mailkeep }))
const path = `http://127.0.0.1:${await portOf(api)}/api/v1/lists/${list.id}/contacts`

let saves = 0
const newContact = () => ({ email: `${saves++}@example.org`, tags: ['vip'], city: 'Oslo' })
const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
const post = async () => {
  const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(newContact()) })
  if (response.status !== 201) throw new Error(await response.text())
  await response.text()
}
await count('a save by the library', () => acme.contacts.addToList(list.id, newContact()))
await count('a save over HTTP', post)
// The path of production. `deliverDue` would also do all jobs, and look for mail.
await mailkeep.start()
await count('an event, from its raise to its recorded delivery', () =>
  acme.events.raise({ type: 'newsletter.sent', data: { newsletter: { id: 1 } } }),
)
await mailkeep.close()
for (const server of [api, receiver]) server.close().closeAllConnections()
await rm(folder, { recursive: true })

async function portOf(server: ReturnType<typeof createServer>): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port
}

/**
 * Counts by V8's precise coverage, after a few runs that compile statements and fill caches. Prints the run with the fewest
 * functions, because polls of the mailer and housekeeping happen in some of them.
 */
async function count(name: string, work: () => Promise<unknown>): Promise<void> {
  for (let run = 0; run < 3; run++) await work()
  await setTimeout(settleMs)
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  let passed: Passed[] | undefined
  for (let run = 0; run < countedRuns; run++) {
    await session.post('Profiler.takePreciseCoverage')
    await work()
    await setTimeout(settleMs)
    const ran = passedIn((await session.post('Profiler.takePreciseCoverage')).result)
    if (passed === undefined || ran.length < passed.length) passed = ran
  }
  session.disconnect()
  const files = new Set(passed!.map(({ file }) => file))
  process.stdout.write(`${name}: ${passed!.length} functions in ${files.size} files\n`)
  if (!process.argv.includes('--list')) return
  for (const { file, functionName } of passed!) process.stdout.write(`  ${file} ${functionName}\n`)
}

interface Passed {
  readonly file: string
  readonly functionName: string
}

/** Returns the functions that ran. The fields of a class are no function of their own beside its constructor. */
function passedIn(scripts: readonly Profiler.ScriptCoverage[]): Passed[] {
  return scripts.flatMap(({ url, functions }) => {
    const file = url.includes('node_modules') ? undefined : /\/((?:lib|daemon)\/.*)/.exec(url)?.[1]
    if (file === undefined) return []
    return functions
      .filter(({ ranges }) => ranges[0]!.count > 0)
      .filter(({ functionName }) => !['', '__name', '<instance_members_initializer>', file].includes(functionName))
      .map(({ functionName }) => ({ file, functionName }))
  })
}
