import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { CliError } from './cli-error.ts'

/** The address that a server could not listen on. */
interface ListenAddress {
  readonly host: string
  readonly port: number
  /** The flag or variable that sets the port. */
  readonly setting: string
}

/**
 * Checks that a server can listen on the address, before a start changes the database or creates one.
 *
 * @returns The port. For port 0, one that is free.
 * @throws CliError
 */
export async function requireFreePort(address: ListenAddress): Promise<number> {
  try {
    return await freePort(address)
  } catch (error) {
    throw listenError(error, address)
  }
}

/**
 * Listens on the address for a moment.
 *
 * @returns The port. For port 0, one that is free.
 * @throws The error of node:net.
 */
export async function freePort({ host, port }: Pick<ListenAddress, 'host' | 'port'>): Promise<number> {
  const server = createServer((socket) => socket.destroy()).listen({ host, port })
  try {
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  } finally {
    server.close()
  }
}

/** @returns For a listen error, a CliError that says what to do. Other errors unchanged. */
export function listenError(error: unknown, { host, port, setting }: ListenAddress): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE') {
    return new CliError(
      `Port ${port} of ${host} is in use by another program (${code}): stop that, or choose another port with ${setting}.`,
    )
  }
  if (code === 'EACCES') {
    return new CliError(
      `Port ${port} of ${host} needs privileges (${code}): choose one from 1024 on with ${setting}, or grant CAP_NET_BIND_SERVICE.`,
    )
  }
  if (/^(?:EADDRNOTAVAIL|EAFNOSUPPORT|EINVAL)$/.test(code ?? '') || syscall === 'getaddrinfo') {
    return new CliError(`${host} is no address of this machine (${code}): set --host or MAILKEEP_HOST to one that is.`)
  }
  return error
}
