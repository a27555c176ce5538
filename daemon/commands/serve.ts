import { createApi } from '../api/index.ts'
import { curlLine, type FirstToken, makeFirstToken } from '../first-token.ts'
import { listenError } from '../listen-error.ts'
import { createMetrics } from '../metrics.ts'
import { openMailkeep } from '../open.ts'
import { listen, type RunningServer } from '../server.ts'
import type { Command, Invocation } from './command.ts'

/** All that stopping may take; what is left of it when the requests are answered belongs to the deliveries. */
const stopMs = 10_000
const leastForDeliveriesMs = 1_000

export const serve: Command = {
  usage: 'serve',
  about: 'Answer the HTTP API and deliver webhooks, until stopped',
  lasting: true,
  run: async (invocation) => {
    const { config, logger, stopped, listenFd } = invocation
    const mailkeep = await openMailkeep(config, logger, { create: true })
    let deadlineMs = 0
    try {
      const metrics = createMetrics(mailkeep, config.metricsToken)
      const { answer } = createApi({
        mailkeep,
        logger,
        metrics,
        ...(config.publicUrl === undefined ? {} : { publicUrl: config.publicUrl }),
      })
      // A port first, a token then: one that is shown by a start that fails would be lost.
      const { observe } = metrics
      const { host, port } = config
      const server = await listen({ answer, observe, logger, host, port, fd: listenFd }).catch((error: unknown) => {
        throw listenError(error, { host, port, setting: '--port or MAILKEEP_PORT' })
      })
      try {
        const first = await makeFirstToken(mailkeep, config, invocation.terminal)
        mailkeep.start({ dispatch: config.dispatch })
        announce(invocation, server, first)
        await stopped
      } finally {
        deadlineMs = performance.now() + stopMs
        await server.close(stopMs - leastForDeliveriesMs)
      }
    } finally {
      await mailkeep.close({ timeoutMs: Math.max(leastForDeliveriesMs, deadlineMs - performance.now()) })
    }
  },
}

function announce({ print }: Invocation, { url, host, port }: RunningServer, first: FirstToken | undefined): void {
  const lines = [`mailkeep listens on ${url}`]
  if (first?.in === 'output') lines.push(`The first admin token, not shown again: ${first.token}`)
  if (first?.in === 'file' && !first.given) lines.push(`The first admin token is in ${first.path}`)
  if (first) lines.push(`Try it: ${curlLine(first, url)}`)
  print({ json: { url, host, port, ...(first ? tokenFields(first) : {}) }, text: lines.join('\n') })
}

function tokenFields(first: FirstToken): object {
  if (first.in === 'output') return { admin_token: first.token }
  return first.in === 'file' && !first.given ? { admin_token_file: first.path } : {}
}
