/** Databases of a measurement: each is new and empty, and is deleted afterwards. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../../support/free-port.ts'
import { withEmptyPostgres } from '../postgres-place.ts'
import type { PlaceKind } from './contenders.ts'

/** Whether this machine has a Redis server. */
export const hasRedis = spawnSync('redis-server', ['--version']).status === 0

/** Passes a SQLite file, the URL of a PostgreSQL database or the port of a Redis server to `use`. */
export async function withPlace<T>(kind: PlaceKind, folder: string, use: (database: string) => Promise<T>): Promise<T> {
  if (kind === 'postgres') return await withEmptyPostgres(use)
  const own = await mkdtemp(join(folder, 'place-'))
  try {
    if (kind === 'sqlite') return await use(join(own, 'place.db'))
    return await withRedis(own, kind === 'redis always' ? 'always' : 'everysec', use)
  } finally {
    await rm(own, { recursive: true, force: true })
  }
}

/** Settings as BullMQ's documentation advises: an append-only file, and no key is ever evicted. */
async function withRedis<T>(folder: string, fsync: string, use: (port: string) => Promise<T>): Promise<T> {
  const port = String(await freePort())
  const place = ['--port', port, '--bind', '127.0.0.1', '--dir', folder]
  const durable = ['--appendonly', 'yes', '--appendfsync', fsync, '--save', '', '--maxmemory-policy', 'noeviction']
  const server = spawn('redis-server', [...place, ...durable], { stdio: 'ignore' })
  const exited = once(server, 'exit')
  try {
    while (!(await accepts(Number(port)))) await delay(20)
    return await use(port)
  } finally {
    server.kill('SIGKILL')
    await exited
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false))
    socket.on('connect', () => socket.destroy())
  })
}
