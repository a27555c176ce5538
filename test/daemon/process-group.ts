/** Starts several processes of `serve`, asks any of them, and looks at them. */
import { execFileSync } from 'node:child_process'
import { request } from 'node:http'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import Database from 'better-sqlite3'
import { token } from '../support/postgres-program.ts'
import { daemon, directory } from '../support/program.ts'
import { until } from '../support/webhook-harness.ts'

export const two = ['--processes', '2']
const env = { MAILKEEP_WEBHOOK_ALLOW_PRIVATE: 'true', MAILKEEP_ADMIN_TOKEN: token }

/** Maximum time for an answer, also of a process that starts again. */
const patienceMs = 3000

interface Answered {
  readonly status: number
  readonly text: string
}

/** Sends a request on a connection of its own, so that it may reach any process. */
export function ask(url: string, method: string, path: string, body?: object): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) }
    const sent = request(url + path, { method, headers, agent: false }, async (response) => {
      let text = ''
      try {
        for await (const chunk of response.setEncoding('utf8')) text += chunk
        resolve({ status: response.statusCode!, text })
      } catch (error) {
        reject(error)
      }
    })
    sent.setTimeout(patienceMs, () => sent.destroy(new Error(`${method} ${path} was not answered`)))
    sent.on('error', reject)
    sent.end(body && JSON.stringify(body))
  })
}

/** Returns the numbers of the processes that have logged requests, in order. */
export function processesIn(log: string): number[] {
  const lines = log.split('\n').filter((line) => line.startsWith('{') && line.includes('"requestId"'))
  return [...new Set(lines.map((line) => JSON.parse(line).process as number))].sort()
}

/** Sends requests until each of the processes has answered some since now. */
export async function untilBothAnswer({ url, said }: { url: string; said: { err: string } }): Promise<void> {
  const from = said.err.length
  await until('both processes answer', async () => {
    const { status } = await ask(url, 'GET', '/api/v1/tags').catch(() => ({ status: 0 }))
    return (status === 200 && processesIn(said.err.slice(from)).join() === '1,2') || undefined
  })
}

/** Returns the ids of the processes by their numbers, which are in their order of age. */
export function children(pid: number): number[] {
  const list = execFileSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' })
  return list.trim().split(/\s+/).map(Number)
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

export function figure(page: string, name: string): number {
  const line = page.split('\n').find((each) => each.startsWith(`${name} `))
  return line === undefined ? 0 : Number(line.slice(name.length + 1))
}

export const answeredTags = 'mailkeep_http_requests_total{method="GET",route="/api/v1/tags",status="200"}'
export const metricsOf = async (url: string) => (await ask(url, 'GET', '/metrics')).text

export function stored(cwd: string, table: string): number {
  const handle = new Database(join(cwd, 'mailkeep.db'), { readonly: true })
  try {
    return handle.prepare(`select count(*) from ${table}`).pluck().get() as number
  } finally {
    handle.close()
  }
}

/** Starts a daemon of two processes. */
export async function startTwo(t: TestContext, args = two) {
  const cwd = await directory(t)
  return { cwd, ...(await daemon(t, { cwd, env }, args)) }
}
