/** A proxy between the library and its database that can interrupt the connection. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Proxy {
  readonly port: number
  /** Ends all connections and refuses new ones. */
  cut(): void
  /** Stops forwarding without closing connections, like a network that loses every packet. */
  mute(): void
  /** Restores the connection. */
  mend(): void
  /**
   * Simulates a PostgreSQL server that ends connections just as they become ready. The next `count` answers that end
   * with ReadyForQuery get a FATAL error appended, in the same chunk.
   */
  terminateWhenReady(count: number): void
  /** From now on, removes all settings from the connections that begin, like PgBouncer with `ignore_startup_parameters`. */
  dropSettings(): void
  /** The server gets the next `count` commits, but the connection ends before any of its answers arrive. */
  loseCommits(count: number): void
  close(): Promise<void>
}

/** ReadyForQuery: its type, its length, and the state of the transaction. */
function endsReady(bytes: Buffer): boolean {
  return bytes.length >= 6 && bytes.subarray(-6, -1).equals(Buffer.from('Z\0\0\0\x05'))
}

/** The error that a server sends when an administrator terminates the connection. */
const fields = ['SFATAL', 'VFATAL', 'C57P01', 'Mterminating connection due to administrator command'].join('\0')
const length = Buffer.alloc(4)
length.writeInt32BE(4 + fields.length + 2)
const terminated = Buffer.concat([Buffer.from('E'), length, Buffer.from(`${fields}\0\0`)])

/** Returns a startup packet with the names of the user and the database only. */
function withoutSettings(packet: Buffer): Buffer {
  const fields = packet.toString('latin1', 8).split('\0')
  const kept = ['user', 'database'].flatMap((name) => [name, fields[fields.indexOf(name) + 1]!])
  const short = Buffer.concat([packet.subarray(0, 8), Buffer.from(`${kept.join('\0')}\0\0`, 'latin1')])
  short.writeInt32BE(short.length)
  return short
}

/** Time in which a server commits. */
const commitMs = 100

export async function openProxy(target: { host: string; port: number }): Promise<Proxy> {
  const sockets = new Set<Socket>()
  let state: 'open' | 'cut' | 'mute' = 'open'
  let terminations = 0
  let losses = 0
  let dropsSettings = false
  const end = () => {
    for (const socket of sockets) socket.destroy()
  }
  const server = createServer((near) => {
    if (state === 'cut') {
      near.destroy()
      return
    }
    const far = connect(target)
    let isLost = false
    let isStarting = dropsSettings
    const pass = (bytes: Buffer, from: Socket, to: Socket) => {
      if (isStarting) {
        isStarting = false
        return void to.write(withoutSettings(bytes))
      }
      if (from === near && losses > 0 && bytes.includes('commit\0')) {
        losses -= 1
        isLost = true
        setTimeout(() => near.destroy(), commitMs)
      }
      if (from === far && isLost) return
      if (from === near || terminations === 0 || !endsReady(bytes)) return void to.write(bytes)
      terminations -= 1
      to.end(Buffer.concat([bytes, terminated]))
    }
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('data', (bytes) => state !== 'mute' && pass(bytes, from, to))
      from.on('error', () => {})
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      state = 'cut'
      end()
    },
    mute() {
      state = 'mute'
    },
    mend() {
      state = 'open'
    },
    terminateWhenReady(count) {
      terminations = count
    },
    dropSettings() {
      dropsSettings = true
    },
    loseCommits(count) {
      losses = count
    },
    async close() {
      end()
      server.close()
      await once(server, 'close')
    },
  }
}
