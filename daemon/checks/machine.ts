import { once } from 'node:events'
import { statfs } from 'node:fs/promises'
import { request } from 'node:http'
import { dirname, resolve } from 'node:path'
import { hostAndPort } from '../../lib/internal.ts'
import type { Config } from '../config.ts'
import { bytesOf, inMemory, isServer } from '../database-setting.ts'
import { freePort } from '../listen-error.ts'
import { type Finding, fault, ok, warning } from './finding.ts'

/** Checks the disk, the port and the exposure of the service. */
export async function checkMachine(config: Config): Promise<Finding[]> {
  return [await checkDisk(config), await checkPort(config), ...checkExposure(config)].filter(
    (found) => found !== undefined,
  )
}

const minFreeBytes = 100e6

async function checkDisk({ database }: Config): Promise<Finding | undefined> {
  if (database === inMemory || isServer(database)) return undefined
  const directory = dirname(resolve(database))
  try {
    const { bavail, bsize, ffree, files } = await statfs(directory)
    const free = bavail * bsize
    const size = bytesOf(database)
    const left = `${inMegabytes(free)} free in ${directory}, the database has ${inMegabytes(size)}`
    if (free < minFreeBytes) return fault('disk', left, 'free some space: on a full disk every write is refused')
    if (files > 0 && ffree < 100)
      return fault('disk', `no more files can be created in ${directory}`, 'delete some files')
    if (free < 2 * size)
      return warning(
        'disk',
        left,
        'a backup beside the database and the log of large deletions need as much space as the database',
      )
    return ok('disk', left)
  } catch (error) {
    return fault('disk', (error as Error).message, 'create the directory of the database')
  }
}

async function checkPort({ host, port }: Config): Promise<Finding> {
  const place = hostAndPort(host, port)
  try {
    await freePort({ host, port })
    return ok('port', `${place} is free`)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE') {
      if (await answersHealth(host, port)) return await checkService(host, port, place)
      return fault('port', `${place} is taken by another program`, 'stop that, or set MAILKEEP_PORT')
    }
    if (code === 'EACCES') return fault('port', `${place} needs privileges`, 'set MAILKEEP_PORT to 1024 or more')
    return fault('port', `${place} cannot be listened on (${code})`, 'set MAILKEEP_HOST to an address of this machine')
  }
}

const healthTimeoutMs = 2000
/** A database that hangs is reported after 5 s. */
const readyTimeoutMs = 7000

/** Asks a running mailkeep what keeps it from its work, such as a database file that was moved while it is open. */
async function checkService(host: string, port: number, place: string): Promise<Finding> {
  const { status, body } = await ask(host, port, '/readyz', readyTimeoutMs)
  if (status === 200) return ok('port', `a mailkeep answers on ${place}, and is ready`)
  const reasons = [...new Set(reasonsOf(body))].join(' ')
  return fault('port', `the mailkeep on ${place} is not ready: ${reasons || 'it gave no reason'}`, 'see its log')
}

/** @param body An error of the API. */
function reasonsOf(body: string): string[] {
  try {
    const { errors } = JSON.parse(body) as { errors?: Record<string, string[]> }
    return Object.values(errors ?? {}).flat()
  } catch {
    return []
  }
}

/** @returns Whether the program on this port answers /healthz like mailkeep. */
async function answersHealth(host: string, port: number): Promise<boolean> {
  const { status, body } = await ask(host, port, '/healthz', healthTimeoutMs)
  return status === 200 && body === '{"status":"ok"}'
}

interface Answer {
  readonly status?: number | undefined
  readonly body: string
}

const maxAnswerCharacters = 10_000

async function ask(host: string, port: number, path: string, timeoutMs: number): Promise<Answer> {
  const asked = /^(?:0\.0\.0\.0|::)$/.test(host) ? 'localhost' : host
  try {
    const req = request({ host: asked, port, path, signal: AbortSignal.timeout(timeoutMs) })
    req.end()
    const [response] = await once(req, 'response')
    let body = ''
    for await (const chunk of response) if (body.length < maxAnswerCharacters) body += chunk
    return { status: response.statusCode, body }
  } catch {
    return { body: '' }
  }
}

function checkExposure({ host, metricsToken, webhooks }: Config): Finding[] {
  const findings: Finding[] = []
  const reachable = !/^(?:127\.|::1$|localhost$)/.test(host)
  if (reachable && webhooks.allowPrivate) {
    const message = 'webhooks may reach private addresses, while others can reach this service'
    findings.push(warning('exposure', message, 'unset MAILKEEP_WEBHOOK_ALLOW_PRIVATE: it is for development'))
  }
  if (reachable && metricsToken === undefined) {
    const message = `anyone who can reach ${host} can read /metrics`
    findings.push(warning('exposure', message, 'set MAILKEEP_METRICS_TOKEN, or block the path in the proxy'))
  }
  return findings
}

function inMegabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`
}
