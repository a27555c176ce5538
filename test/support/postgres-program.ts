/** Runs the program on a PostgreSQL database; each test has its own schema. */
import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import { databaseUrl, queryOnce } from './databases.ts'
import { directory, firstLine, start } from './program.ts'

export const key = Buffer.alloc(32, 7).toString('base64')
export const token = 'mk_test_0123456789abcdefghijklmnopqrstuvwxyz'

export interface Place {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly url: string
  readonly schema: string
  /** Runs a statement directly on the database. */
  ask(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>
}

/** Creates a working directory, and the settings for an empty database. */
export async function openPlace(t: TestContext): Promise<Place> {
  const url = await databaseUrl()
  const schema = `p_${randomBytes(6).toString('hex')}`
  const env = {
    MAILKEEP_DATABASE: url,
    MAILKEEP_DATABASE_SCHEMA: schema,
    MAILKEEP_ENCRYPTION_KEY: key,
    MAILKEEP_WEBHOOK_ALLOW_PRIVATE: 'true',
  }
  const inSchema = `${url}?options=-c%20search_path%3D${schema}`
  return { cwd: await directory(t), env, url, schema, ask: (text, values) => queryOnce(inSchema, text, values) }
}

/** Like `openPlace`, with a known admin token. */
export async function openKnownPlace(t: TestContext): Promise<Place> {
  const place = await openPlace(t)
  return { ...place, env: { ...place.env, MAILKEEP_ADMIN_TOKEN: token } }
}

/** Starts a long-running command that is stopped after the test, and waits for its line of JSON. */
export async function running(t: TestContext, place: Place, args: readonly string[] = ['serve']) {
  const port = args[0] === 'serve' ? ['--port', '0'] : []
  const { child, said, closed } = start([...args, ...port, '--json'], place)
  t.after(async () => {
    child.kill('SIGKILL')
    await closed
  })
  const { url = '' } = await firstLine(child, said, closed)
  /** Calls the API with the known token. */
  const api = (method: string, path: string, body?: object) =>
    fetch(`${url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal)
    return await closed
  }
  return { child, said, url, api, stop, closed }
}
