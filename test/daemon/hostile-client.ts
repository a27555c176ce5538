/** A process that attacks a server; its parent chooses the attack and asks for the results. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** The attack that a parent asks for. */
export interface Attack {
  readonly kind: 'silent' | 'idle' | 'pipeline' | 'bodies' | 'crumbs' | 'headers'
  readonly port: number
  readonly count: number
  readonly token: string
}

/** The results so far. */
export interface AttackResult {
  /** Connections that were made, and connections that are still open. */
  readonly made: number
  readonly open: number
  readonly sentBytes: number
  /** Answers by status. */
  readonly answers: Readonly<Record<string, number>>
}

const sockets = new Set<Socket>()
const answers: Record<string, number> = {}
let made = 0
let sentBytes = 0

/** Connections opened at a time, because a server's backlog is limited. */
const batch = 200

async function attack({ kind, port, count, token }: Attack): Promise<void> {
  for (let at = 0; at < count; at += batch) {
    await Promise.all(Array.from({ length: Math.min(batch, count - at) }, () => open(port, kind, token)))
  }
}

async function open(port: number, kind: Attack['kind'], token: string): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.on('close', () => sockets.delete(socket))
  if (kind === 'pipeline') socket.pause()
  else socket.setEncoding('latin1').on('data', count)
  sockets.add(socket)
  await Promise.race([once(socket, 'connect'), once(socket, 'close')]).catch(() => {})
  made++
  if (kind === 'idle') socket.write(`GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n`)
  if (kind === 'pipeline')
    flood(socket, `GET /api/v1/contacts HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`)
  if (kind === 'headers') flood(socket, `GET / HTTP/1.1\r\nHost: x\r\n${`A: ${'b'.repeat(1000)}\r\n`.repeat(100)}`)
  if (kind === 'crumbs') await writeCrumbs(socket)
  if (kind === 'bodies') socket.write(Buffer.concat([Buffer.from(bodyHead(token)), Buffer.alloc(bodyBytes - 1, 0x20)]))
}

/** Writes a body in chunks of one byte. Resolves when the socket has taken it, or is closed. */
async function writeCrumbs(socket: Socket): Promise<void> {
  const head = 'POST /inbound/ses HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n'
  const crumbs = '1\r\n \r\n'.repeat(crumbsPerBody)
  await new Promise<void>((resolve) => {
    socket.once('close', () => resolve())
    socket.write(head + crumbs, () => resolve())
  })
}

/** Less than a notification of Amazon SNS may have. */
const crumbsPerBody = 300_000

const bodyBytes = 1024 * 1024

function bodyHead(token: string): string {
  const head = [
    'POST /api/v1/tags HTTP/1.1',
    'Host: x',
    `Authorization: Bearer ${token}`,
    `Content-Length: ${bodyBytes}`,
  ]
  return [...head, 'Content-Type: application/json', '', ''].join('\r\n')
}

/** Writes as fast as possible, and reads nothing. */
function flood(socket: Socket, request: string): void {
  const many = Buffer.from(request.repeat(200))
  const more = () => {
    while (socket.writable) {
      sentBytes += many.length
      if (!socket.write(many)) return
    }
  }
  socket.on('drain', more)
  more()
}

function count(text: string): void {
  for (const [, status] of text.matchAll(/HTTP\/1\.1 (\d{3}) /g)) answers[status!] = (answers[status!] ?? 0) + 1
}

process.on('message', async (message: Attack | 'toll') => {
  if (message !== 'toll') await attack(message)
  const toll: AttackResult = { made, open: sockets.size, sentBytes, answers }
  process.send!(toll)
})
process.on('disconnect', () => process.exit())
process.send!('ready')
