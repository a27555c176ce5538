/** SMTP servers for tests: nodemailer's smtp-server, and raw sockets for what it would never do. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { type Email, default as PostalMime } from 'postal-mime'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import type { MailMessage } from '../../lib/sending/transport.ts'
import { type SmtpOptions, smtp } from '../../lib/sending/transports/smtp.ts'
import { authority, certificate } from '../support/certificates.ts'

interface MailServer {
  readonly port: number
  /** The messages that were accepted, as they were received. */
  readonly received: Buffer[]
  /** The envelopes of `received`. */
  readonly envelopes: { from: string; to: string[]; secure: boolean; user: string | undefined }[]
  connections: number
}

/** An error with this reply code, for the handlers of smtp-server. */
export function reply(code: number, text: string): Error {
  return Object.assign(new Error(text), { responseCode: code })
}

const serverKeys = authority ? certificate('server', { address: '127.0.0.1' }) : {}

export async function openMailServer(t: TestContext, options: SMTPServerOptions = {}): Promise<MailServer> {
  const opened: MailServer = { port: 0, received: [], envelopes: [], connections: 0 }
  const server = new SMTPServer({
    authOptional: true,
    disableReverseLookup: true,
    ...serverKeys,
    closeTimeout: 20,
    onConnect(_session, done) {
      opened.connections++
      done()
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope
        opened.received.push(Buffer.concat(chunks))
        opened.envelopes.push({
          from: mailFrom ? mailFrom.address : '',
          to: rcptTo.map(({ address }) => address),
          secure: session.secure,
          user: (session.user as string | undefined) || undefined,
        })
        done()
      })
    },
    ...options,
  })
  server.on('error', () => {}) // connections that the tests cut
  server.listen(0, '0.0.0.0')
  await once(server.server, 'listening')
  t.after(() => new Promise<void>((resolve) => server.close(resolve)))
  return Object.assign(opened, { port: (server.server.address() as AddressInfo).port })
}

/** What a raw server answers to a line: text to send, or `cut` to end the connection without an answer. */
export type Script = (line: string, socket: Socket) => string | 'cut' | undefined

/** A server that answers each line by a script. The line after a message is `.`. */
export async function openRawServer(t: TestContext, script: Script) {
  const sockets = new Set<Socket>()
  const lines: string[] = []
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    let inMessage = false
    let rest = ''
    socket.setEncoding('latin1')
    answer('connect')
    socket.on('data', (chunk: string) => {
      const all = (rest + chunk).split('\r\n')
      rest = all.pop()!
      for (const line of all) {
        if (inMessage && line !== '.') continue
        inMessage = false
        lines.push(line)
        answer(line)
        if (line === 'DATA') inMessage = true
      }
    })
    function answer(line: string) {
      const text = script(line, socket) ?? usualAnswer(line)
      if (text === 'cut') socket.destroy()
      else if (text !== '') socket.write(`${text}\r\n`)
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, lines }
}

function usualAnswer(line: string): string {
  if (line === 'connect') return '220 test'
  if (line === 'DATA') return '354 send the message'
  if (line === 'QUIT') return '221 bye'
  return line === '.' ? '250 2.0.0 queued as T1' : '250 test'
}

export const message: MailMessage = {
  id: '0c0d6a4e-5f7c-4a50-9d7e-0d8b1d0f7a11',
  from: { name: 'Acme, "News" é', email: 'news@acme.example' },
  replyTo: 'office@acme.example',
  to: { name: 'Ada <Lovelace>, Countess', email: 'ada@example.org' },
  subject: 'Grüße, and a long subject that has to be folded because it exceeds seventy-eight characters',
  html: '<p>Hällo</p>\n.\n..a line with dots',
  text: 'Hällo\n.\n..a line with dots',
  headers: { 'X-Test': 'one' },
  clientId: 1,
}

/** Opens the transport for a server on this machine, and closes it after the test. */
export function connect(t: TestContext, port: number, options: Partial<SmtpOptions> = {}) {
  const transport = smtp({ url: `smtp://127.0.0.1:${port}`, ...options })
  t.after(() => transport.close?.())
  return {
    transport,
    send: (fields: Partial<MailMessage> = {}, signal = AbortSignal.timeout(60_000)) =>
      transport.send({ ...message, ...fields }, signal),
  }
}

export function parsed(mail: Buffer | string): Promise<Email> {
  return PostalMime.parse(mail)
}

/** Returns the header lines of a mail as they were sent: a folded header has several. */
export function headerLines(mail: Buffer | string): string[] {
  return mail.toString().split('\r\n\r\n')[0]!.split('\r\n')
}
