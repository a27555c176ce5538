import { type Mailkeep, MailkeepError } from '../../lib/index.ts'
import { refuse } from '../api/encode.ts'
import { createApi, type Respond } from '../api/index.ts'
import { CliError } from '../cli-error.ts'
import { shownDatabase } from '../database-setting.ts'
import { listen, type RunningServer } from '../http/server.ts'
import { listenError, requireFreePort } from '../listen-error.ts'
import { createMetrics } from '../metrics.ts'
import { openMailkeep } from '../open.ts'
import type { Command, Invocation } from './command.ts'

const stopTimeoutMs = 10_000
const healthPort = '--health-port'

/** Always delivers webhooks and sends mail. MAILKEEP_DISPATCH is only for processes that answer the API. */
export const dispatch: Command = {
  usage: 'dispatch',
  about: 'Deliver webhooks and send mail without answering the HTTP API, until stopped',
  longRunning: true,
  flags: [
    {
      name: 'health-port',
      value: 'PORT',
      about: 'Port that answers /healthz, /readyz and /metrics',
      default: 'none',
      example: '8081',
    },
  ],
  run: async (invocation) => {
    const { config, logger, stopped, print } = invocation
    const port = portFrom(invocation.flags['health-port'])
    if (port !== undefined) await requireFreePort({ host: config.host, port, setting: healthPort })
    const mailkeep = await openMailkeep(config, logger, { create: true })
    try {
      const server = port === undefined ? undefined : await listenForHealth(invocation, mailkeep, port)
      try {
        mailkeep.start()
        const mail = config.mail.transport.kind === 'none' ? '' : ' and sends the mail'
        const text = `mailkeep delivers the webhooks${mail} of ${shownDatabase(config.database)}`
        const health = server === undefined ? {} : { url: server.url, host: server.host, port: server.port }
        print({ json: { delivering: true, ...health }, text: server ? `${text}, health on ${server.url}` : text })
        await stopped
      } finally {
        await server?.close(stopTimeoutMs)
      }
    } finally {
      await mailkeep.close({ timeoutMs: stopTimeoutMs })
    }
  },
}

function portFrom(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text)
  throw new CliError('--health-port must be a whole number from 0 to 65535.', 2)
}

async function listenForHealth(
  { config: { host, metricsToken }, logger }: Invocation,
  mailkeep: Mailkeep,
  port: number,
): Promise<RunningServer> {
  const metrics = createMetrics(mailkeep, metricsToken)
  const { pages } = createApi({ mailkeep, logger, metrics })
  try {
    return await listen({ surfaces: { ...pages, '*': noApi }, observe: metrics.observe, logger, host, port })
  } catch (error) {
    throw listenError(error, { host, port, setting: healthPort })
  }
}

const noApi: Respond = async (request) => {
  return refuse(request, new MailkeepError('not_found', 'This process only delivers webhooks and sends mail.'))
}
