/** An SMTP server in a process of its own. It counts the messages that it accepted for each recipient. */
import { SMTPServer, type SMTPServerSession } from 'smtp-server'

/** What the server does to a recipient's first attempt. It treats the next attempt as usual. */
export type MailFault =
  /** Refuses the recipient with 451. */
  | 'greylist'
  /** Answers RCPT after a while. */
  | 'slow'
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
  /** The domain of the sender and of the recipients. Each scene has its own. */
  readonly domain: string
  /** Accepts the n-th message from now and does not answer it. */
  readonly holdAt?: number
  /** Does this from now on, to the recipients whose number is a multiple of `every`. */
  readonly fault?: MailFault
  readonly every?: number
  readonly report?: true
}

/** Numbers of accepted messages by recipient and subject. */
export type Accepted = readonly (readonly [email: string, subject: string, count: number])[]

export type MailServerAnswer =
  | { readonly port: number }
  | { readonly domain: string; readonly held: true }
  | { readonly domain: string; readonly accepted: Accepted }

type Done = (error?: Error | null) => void

/** What the server knows of a scene. */
interface Scene {
  order: Omit<MailServerOrder, 'domain'>
  /** Messages since the last order. */
  received: number
  /** By recipient and subject. */
  readonly accepted: Map<string, number>
  readonly seen: Set<string>
}

const slowMs = 300
const scenes = new Map<string, Scene>()
const messagesOf = new WeakMap<SMTPServerSession, number>()

const server = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS', 'AUTH'],
  disableReverseLookup: true,
  maxClients: Infinity,
  onMailFrom({ address }, session, done) {
    const count = (messagesOf.get(session) ?? 0) + 1
    messagesOf.set(session, count)
    if (sceneOf(address).order.fault !== '421 after three messages' || count <= 3) return done()
    done(reply(421, '4.7.0 Too many messages'))
    setImmediate(() => connectionOf(session)?.end())
  },
  onRcptTo({ address }, session, done) {
    const fault = faultFor(address)
    if (fault === 'hang' || fault === 'reset' || fault === 'greylist' || fault === 'slow') {
      sceneOf(address).seen.add(address)
    }
    if (fault === 'hang') return
    if (fault === 'reset') connectionOf(session)?.resetAndDestroy()
    else if (fault === 'slow') setTimeout(done, slowMs)
    else done(fault === 'greylist' ? reply(451, '4.7.1 Greylisted') : null)
  },
  onData(stream, session, done) {
    const chunks: Buffer[] = []
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.once('end', () => accept(Buffer.concat(chunks).toString(), session, done))
  },
})

function accept(mail: string, session: SMTPServerSession, done: Done): void {
  const { address } = session.envelope.rcptTo[0]!
  const fault = faultFor(address)
  const scene = sceneOf(address)
  scene.seen.add(address)
  const key = `${address} ${/^subject: (.*?)\r?$/im.exec(mail)?.[1]}`
  scene.accepted.set(key, (scene.accepted.get(key) ?? 0) + 1)
  scene.received += 1
  if (scene.received === scene.order.holdAt) tell({ domain: domainOf(address), held: true })
  else if (fault === 'die before the answer') connectionOf(session)?.resetAndDestroy()
  else if (fault !== 'hang after the message') done()
}

function domainOf(address: string): string {
  return address.slice(address.indexOf('@') + 1)
}

function sceneOf(address: string): Scene {
  const domain = domainOf(address)
  const scene = scenes.get(domain) ?? { order: {}, received: 0, accepted: new Map(), seen: new Set() }
  scenes.set(domain, scene)
  return scene
}

function faultFor(address: string): MailFault | undefined {
  const { seen, order } = sceneOf(address)
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
process.on('message', ({ domain, report, ...order }: MailServerOrder) => {
  const scene = sceneOf(`@${domain}`)
  if (report) {
    const accepted = [...scene.accepted].map(([key, count]) => {
      const [email, ...subject] = key.split(' ')
      return [email!, subject.join(' '), count] as const
    })
    return tell({ domain, accepted })
  }
  scene.order = order
  scene.received = 0
})
process.on('disconnect', () => process.exit())
