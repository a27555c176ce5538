import { type Mailkeep, MailkeepError } from '../../lib/index.ts'
import { encodeError, requestIdOf } from '../api/encode.ts'
import { type Api, createApi } from '../api/index.ts'
import { Complaint } from '../complaint.ts'
import { shownDatabase } from '../database-url.ts'
import { createMetrics } from '../metrics.ts'
import { openMailkeep } from '../open.ts'
import { listen, type RunningServer } from '../server.ts'
import type { Command, Invocation } from './command.ts'

const stopMs = 10_000

/** Only webhooks, whatever MAILKEEP_DISPATCH says: that is for processes that answer the API. */
export const dispatch: Command = {
  usage: 'dispatch',
  about: 'Deliver webhooks without answering the HTTP API, until stopped',
  lasting: true,
  flags: [{ name: 'health-port', about: 'answers /healthz, /readyz and /metrics there; else nothing listens' }],
  run: async (invocation) => {
    const { config, logger, stopped, print } = invocation
    const port = portFrom(invocation.flags['health-port'])
    const mailkeep = await openMailkeep(config, logger)
    try {
      const server = port === undefined ? undefined : await listenForHealth(invocation, mailkeep, port)
      try {
        mailkeep.start()
        const text = `mailkeep delivers the webhooks of ${shownDatabase(config.database)}`
        const health = server === undefined ? {} : { url: server.url, host: server.host, port: server.port }
        print({ json: { delivering: true, ...health }, text: server ? `${text}, health on ${server.url}` : text })
        await stopped
      } finally {
        await server?.close(stopMs)
      }
    } finally {
      await mailkeep.close({ timeoutMs: stopMs })
    }
  },
}

function portFrom(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text)
  throw new Complaint('--health-port must be a whole number from 0 to 65535.', 2)
}

function listenForHealth({ config, logger }: Invocation, mailkeep: Mailkeep, port: number): Promise<RunningServer> {
  const metrics = createMetrics(mailkeep, config.metricsToken)
  const { answer } = createApi({ mailkeep, logger, metrics })
  return listen({ answer: withoutApi(answer), observe: metrics.observe, logger, host: config.host, port })
}

function withoutApi(answer: Api['answer']): Api['answer'] {
  return async (request) => {
    if (/^\/(?:healthz|readyz|metrics)(?:\?|$)/.test(request.target)) return await answer(request)
    const error = new MailkeepError('not_found', 'This process only delivers webhooks.')
    return encodeError({ requestId: requestIdOf(request), method: request.method }, error)
  }
}
