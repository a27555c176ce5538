import { isLoopback } from '../../lib/internal.ts'
import { createApi } from '../api/index.ts'
import { CliError } from '../cli-error.ts'
import type { Config } from '../config.ts'
import { consoleSurfaces } from '../console-surface.ts'
import { inMemory } from '../database-setting.ts'
import { curlLine, type FirstToken, makeFirstToken } from '../first-token.ts'
import { listen, type RunningServer } from '../http/server.ts'
import { createInbound } from '../inbound.ts'
import { listenError, requireFreePort } from '../listen-error.ts'
import { createMetrics } from '../metrics.ts'
import { openMailkeep } from '../open.ts'
import { contactPages } from '../pages/index.ts'
import { ProcessGroup } from '../processes/process-group.ts'
import type { Command, Invocation } from './command.ts'

/** Time limit for stopping. Requests finish first. The deliveries get the rest of the time. */
const stopTimeoutMs = 10_000
/** Minimum of that time for deliveries. */
const minDeliveryStopMs = 1_000

export const serve: Command = {
  usage: 'serve',
  about: 'Answer the HTTP API, deliver webhooks and send mail, until stopped',
  longRunning: true,
  run: (invocation) => {
    return invocation.config.processes > 1 && !invocation.worker ? serveTogether(invocation) : serveAlone(invocation)
  },
}

/** Starts several processes. The first one creates or migrates the database before the others open it. */
async function serveTogether({ config, logger, print, stopped, fork, listenFd, onExit }: Invocation): Promise<void> {
  if (config.database === inMemory) {
    throw new CliError(
      'A database in memory belongs to one process: set MAILKEEP_PROCESSES to 1, or MAILKEEP_DATABASE.',
    )
  }
  // A free port is chosen once, so that all processes can use it, also after all have crashed.
  const port = listenFd === undefined ? await requireFreePort(addressOf(config)) : config.port
  const group = new ProcessGroup((number, creates) => fork!(number, port, creates), logger)
  onExit!(() => group.kill())
  const crashed = listenFd === undefined ? new Promise<never>(() => {}) : group.allCrashed().then(refuseToGoOn)
  crashed.catch(() => {}) // the start of the first process reports its own error
  const stopping = stopped.then(() => group.stop())
  const report = await group.start()
  if (report) print(report)
  group.startOthers(config.processes)
  await Promise.race([stopping, crashed])
}

/** Node closes an inherited socket with the last process that uses it. systemd still has it. */
function refuseToGoOn(): never {
  throw new CliError('All processes have crashed, and the socket from systemd is closed: start mailkeep again.')
}

function addressOf({ host, port }: Config) {
  return { host, port, setting: '--port or MAILKEEP_PORT' }
}

async function serveAlone(invocation: Invocation): Promise<void> {
  const { config, logger, stopped, listenFd, worker } = invocation
  let isStopping = false
  void stopped.then(() => {
    isStopping = true
  })
  if (!worker && listenFd === undefined) await requireFreePort(addressOf(config))
  let ownUrl: string | undefined
  const publicUrl = () => config.publicUrl ?? ownUrl
  const mailkeep = await openMailkeep(config, logger, { create: worker?.creates ?? true, publicUrl })
  let deadlineMs = 0
  try {
    const { sesTopics: topics } = config.mail
    const own = createMetrics(mailkeep, config.metricsToken)
    const metrics = worker ? { ...own, render: worker.sumMetrics(own.render) } : own
    const api = createApi({
      mailkeep,
      logger,
      metrics,
      console: config.console,
      inbound: topics.length === 0 ? undefined : createInbound({ mailkeep, logger, topics }),
      publicUrl: config.publicUrl,
    })
    const pages = contactPages({ mailkeep, logger, trustProxy: config.trustProxy })
    const website = config.console ? consoleSurfaces(logger, config.portalOrigins) : {}
    // Listen before the token is created. If listening failed afterwards, the printed token could be lost. Requests wait
    // for the token, so that a script may read its file as soon as the daemon answers.
    let open = () => {}
    const ready = new Promise<void>((resolve) => {
      open = resolve
    })
    const surfaces = { ...api.surfaces, ...pages.surfaces, ...website }
    const { observe } = metrics
    const { host, port } = config
    const server = await listen({ surfaces, observe, logger, ready, host, port, fd: listenFd }).catch(
      (error: unknown) => {
        // The socket from systemd is closed with the last process that has used it.
        if (worker && isStopping) throw new CliError('')
        throw listenError(error, addressOf(config))
      },
    )
    if (isLoopback(server.host)) ownUrl = server.url
    try {
      const first = await makeFirstToken(mailkeep, config, invocation.terminal)
      open()
      mailkeep.start({ dispatch: config.dispatch && (worker === undefined || worker.number === 1) })
      printStart(invocation, server, first)
      await stopped
    } finally {
      open()
      deadlineMs = performance.now() + stopTimeoutMs
      await server.close(stopTimeoutMs - minDeliveryStopMs)
    }
  } finally {
    await mailkeep.close({ timeoutMs: Math.max(minDeliveryStopMs, deadlineMs - performance.now()) })
  }
}

function printStart(
  { print, config }: Invocation,
  { url, host, port }: RunningServer,
  first: FirstToken | undefined,
): void {
  const isUnixSocket = host === ''
  const lines = [`mailkeep listens on ${isUnixSocket ? 'the Unix socket from systemd' : url}`]
  if (first?.in === 'output') lines.push(`The first admin token, not shown again: ${first.token}`)
  // A fragment is not sent to any server.
  if (first?.in === 'output' && config.console && !isUnixSocket) lines.push(`The console: ${url}/#token=${first.token}`)
  if (first?.in === 'file' && !first.given) lines.push(`The first admin token is in ${first.path}`)
  const { transport } = config.mail
  if (first && transport.kind === 'folder') lines.push(`Mail is not sent but written to the folder ${transport.path}`)
  if (first && !isUnixSocket) lines.push(`Try it: ${curlLine(first, url)}`)
  print({ json: { url, host, port, ...(first ? tokenFields(first) : {}) }, text: lines.join('\n') })
}

function tokenFields(first: FirstToken): object {
  if (first.in === 'output') return { admin_token: first.token }
  return first.in === 'file' && !first.given ? { admin_token_file: first.path } : {}
}
