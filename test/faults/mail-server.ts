/** An SMTP server in a process of its own. It counts the messages that it accepted for each recipient. */
import { SMTPServer, type SMTPServerSession } from 'smtp-server'

/** What the server does to a recipient's first attempt. It treats the next attempt as usual. */
export type MailFault =
  /** Refuses the recipient with 451. */
  | 'greylist'
  /** Never answers RCPT. */
  | 'hang'
  /** Never answers a message that it accepted. */
  | 'hang after the message'
  /** Resets the connection at RCPT. */
  | 'reset'
  /** Resets the connection after it accepted the message, and before its answer. */
  | 'die before the answer'
  /** Answers 421 to the fourth message of each connection, and ends the connection. */
  | '421 after three messages'

export interface MailServerOrder {
  /** Accepts the n-th message from now and does not answer it. */
  readonly holdAt?: number
  /** Does this from now on, to the recipients whose number is a multiple of `every`. */
  readonly fault?: MailFault
  readonly every?: number
  readonly report?: true
}

export interface MailServerReport {
  /** Messages accepted for each recipient. */
  readonly accepted: readonly (readonly [string, number])[]
}

type MailServerAnswer = { readonly port: number } | { readonly held: true } | MailServerReport

type Done = (error?: Error | null) => void

const accepted = new Map<string, number>()
const seen = new Set<string>()
const messagesOf = new WeakMap<SMTPServerSession, number>()
let order: MailServerOrder = {}
let received = 0

const server = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS', 'AUTH'],
  disableReverseLookup: true,
  maxClients: Infinity,
  onMailFrom(_, session, done) {
    const count = (messagesOf.get(session) ?? 0) + 1
    messagesOf.set(session, count)
    if (order.fault !== '421 after three messages' || count <= 3) return done()
    done(reply(421, '4.7.0 Too many messages'))
    setImmediate(() => connectionOf(session)?.end())
  },
  onRcptTo({ address }, session, done) {
    const fault = faultFor(address)
    if (fault === 'hang' || fault === 'reset' || fault === 'greylist') seen.add(address)
    if (fault === 'hang') return
    if (fault === 'reset') connectionOf(session)?.resetAndDestroy()
    else done(fault === 'greylist' ? reply(451, '4.7.1 Greylisted') : null)
  },
  onData(stream, session, done) {
    stream.resume()
    stream.once('end', () => accept(session, done))
  },
})

function accept(session: SMTPServerSession, done: Done): void {
  const { address } = session.envelope.rcptTo[0]!
  const fault = faultFor(address)
  seen.add(address)
  accepted.set(address, (accepted.get(address) ?? 0) + 1)
  received += 1
  if (received === order.holdAt) tell({ held: true })
  else if (fault === 'die before the answer') connectionOf(session)?.resetAndDestroy()
  else if (fault !== 'hang after the message') done()
}

function faultFor(address: string): MailFault | undefined {
  const number = Number(/\d+/.exec(address)?.[0])
  return seen.has(address) || number % (order.every ?? 1) !== 0 ? undefined : order.fault
}

function reply(responseCode: number, text: string): Error {
  return Object.assign(new Error(text), { responseCode })
}

interface Socket {
  end(): void
  resetAndDestroy(): void
}

/** smtp-server does not show the sockets of its sessions. */
function connectionOf({ id }: SMTPServerSession): Socket | undefined {
  const { connections } = server as unknown as { connections: Set<{ id: string; _socket: Socket }> }
  return [...connections].find((connection) => connection.id === id)?._socket
}

function tell(answer: MailServerAnswer): void {
  process.send!(answer)
}

server.on('error', () => {}) // the clients are killed
server.listen(0, '127.0.0.1', () => tell({ port: (server.server.address() as { port: number }).port }))
process.on('message', (next: MailServerOrder) => {
  if (next.report) return tell({ accepted: [...accepted] })
  order = next
  received = 0
})
process.on('disconnect', () => process.exit())
