import type { Worker } from 'node:cluster'

/** A message of `node:cluster` between its processes. */
interface Internal {
  readonly act?: string
  readonly seq?: number
  /** The `seq` of the message that this one answers. */
  readonly ack?: number
}

type Send = (message: Internal, connection?: { close(): void }, ...others: unknown[]) => boolean

/**
 * Closes the connections that were passed to a process which ended before it took them. Node keeps them open, so their
 * clients would wait until their own timeout.
 */
export function closePassedAtExit({ process: child }: Worker): void {
  const passed = new Map<number | undefined, { close(): void }>()
  const send = child.send.bind(child) as Send
  const remember: Send = (message, connection, ...others) => {
    if (message.act === 'newconn' && connection) passed.set(message.seq, connection)
    return send(message, connection, ...others)
  }
  child.send = remember as typeof child.send
  child.on('internalMessage', ({ ack }: Internal) => passed.delete(ack))
  child.once('exit', () => {
    for (const connection of passed.values()) connection.close()
  })
}
