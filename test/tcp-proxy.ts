/** Stands between the library and its database, and can be pulled like a cable. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Proxy {
  readonly port: number
  /** Ends all connections and refuses new ones. */
  cut(): void
  /** Says nothing any more, and closes nothing: as a network that loses every packet. */
  mute(): void
  /** Is as it was. */
  mend(): void
  close(): Promise<void>
}

export async function openProxy(target: { host: string; port: number }): Promise<Proxy> {
  const sockets = new Set<Socket>()
  let state: 'open' | 'cut' | 'mute' = 'open'
  const end = () => {
    for (const socket of sockets) socket.destroy()
  }
  const server = createServer((near) => {
    if (state === 'cut') {
      near.destroy()
      return
    }
    const far = connect(target)
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('data', (bytes) => state !== 'mute' && to.write(bytes))
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
    async close() {
      end()
      server.close()
      await once(server, 'close')
    },
  }
}
