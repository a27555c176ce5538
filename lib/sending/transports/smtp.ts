/** mailkeep/smtp: sends mail through an SMTP server. Loads nodemailer when the first message is sent. */
import { createPrivateKey } from 'node:crypto'
import { invalid } from '../../errors.ts'
import { withoutAddresses } from '../../logger.ts'
import { checkOptions } from '../../option-schemas.ts'
import { isLoopback } from '../../parse.ts'
import { refuseUnknownNames } from '../../unknown-names.ts'
import { type MailMessage, type MailOutcome, type MailTransport, UncertainError } from '../transport.ts'
import { loadNodemailer, mailOptions } from './nodemailer.ts'
import { outcomeOf, type SmtpError } from './smtp-errors.ts'

export interface SmtpOptions {
  /**
   * `smtp://USER:PASSWORD@HOST:587`, or `smtps://…` for TLS from the start (port 465). `smtp:` switches to TLS with
   * STARTTLS, and fails where the server has none, unless the host is this machine.
   */
  readonly url: string
  /** Maximum connections; default 5. */
  readonly connections?: number | undefined
  /** Signs each message (RFC 6376). */
  readonly dkim?: DkimOptions | undefined
  /** Certificate authorities in PEM to trust instead of Node's own. */
  readonly ca?: string | undefined
  /** How long to wait for each answer of the server; default 60,000. */
  readonly timeoutMs?: number | undefined
  /**
   * The host name that EHLO says. Default: this machine's, or `[127.0.0.1]` if that has no domain, as in a container. Some
   * servers refuse the latter.
   */
  readonly ehloName?: string | undefined
}

export interface DkimOptions {
  /** The signing domain: that of the sender's address. */
  readonly domain: string
  /** The public key is in the DNS record `SELECTOR._domainkey.DOMAIN`. */
  readonly selector: string
  /** The private RSA key in PEM, without a passphrase. */
  readonly privateKey: string
}

type All<Options> = Record<keyof Options, true>
const optionNames = Object.keys({
  url: true,
  connections: true,
  dkim: true,
  ca: true,
  timeoutMs: true,
  ehloName: true,
} satisfies All<SmtpOptions>)
const dkimNames = Object.keys({ domain: true, selector: true, privateKey: true } satisfies All<DkimOptions>)

type Server = ReturnType<typeof serverOf>
type Pool = Awaited<ReturnType<typeof openPool>>

/**
 * Sends through an SMTP server, over a pool of connections. Needs the package `nodemailer`.
 *
 * - `temporary`: a 4xx reply, a failed connection, TLS or login.
 * - `permanent`: a 5xx reply to the sender, the recipient or the message.
 * - UncertainError: the whole message was written, and the connection was lost before the reply, or the reply says nothing.
 *
 * @throws MailkeepError `validation_failed` on a wrong or unknown option.
 * @example
 * const mailkeep = await createMailkeep({ database, encryptionKey, mail: { transport: smtp({ url }) } })
 */
export function smtp(options: SmtpOptions): MailTransport {
  refuseUnknownNames(options, optionNames)
  if (options.dkim) refuseUnknownNames(options.dkim, dkimNames)
  checkOptions('smtp', options)
  const server = serverOf(options.url)
  if (options.dkim) requireSigningKey(options.dkim)
  let opening: Promise<Pool> | undefined
  const open = () => {
    opening ??= openPool(server, options).catch((error) => {
      opening = undefined // retry next time: the package may be installed by then
      throw error
    })
    return opening
  }
  return {
    send: async (message, signal) => await sendThrough(await open(), message, signal),
    async check() {
      // Logs in also where the server offers no login. Sending would leave the login out.
      const pool = await openPool(server, options, 'auth' in server)
      try {
        await pool.verify()
      } finally {
        pool.close()
      }
    },
    async close() {
      const pool = await opening?.catch(() => undefined)
      pool?.close()
    },
  }
}

const wrongUrl = 'url must be smtp://USER:PASSWORD@HOST:PORT or smtps://…, without path and query.'

/** @throws MailkeepError `validation_failed`, without the URL, which may contain a password. */
function serverOf(url: unknown) {
  if (typeof url !== 'string' || !URL.canParse(url)) throw invalid('url', wrongUrl)
  const { protocol, hostname, port, username, password, pathname, search, hash } = new URL(url)
  const hasMore = pathname.replace('/', '') !== '' || search !== '' || hash !== ''
  if (!/^smtps?:$/.test(protocol) || hostname === '' || hasMore) throw invalid('url', wrongUrl)
  const secure = protocol === 'smtps:'
  const host = hostname.replace(/^\[|\]$/g, '')
  const isLocal = isLoopback(host)
  return {
    host,
    port: port === '' ? (secure ? 465 : 587) : Number(port),
    secure,
    requireTLS: !isLocal,
    // On this machine the connection may be plain, so it may also be encrypted without a valid certificate.
    tls: { rejectUnauthorized: !isLocal },
    ...(username === '' ? {} : { auth: { user: decode(username), pass: decode(password) } }),
  }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw invalid('url', 'url must have its user and password percent-encoded.')
  }
}

/** Nodemailer sends messages without a signature if it cannot sign with the key. */
function requireSigningKey({ privateKey }: DkimOptions): void {
  try {
    if (createPrivateKey(privateKey).asymmetricKeyType === 'rsa') return
  } catch {
    // refused below, without the key
  }
  throw invalid('dkim.privateKey', 'dkim.privateKey must be a private RSA key in PEM, without a passphrase.')
}

/**
 * The headers that a signature covers, as far as a message has them. RFC 8058, 4 demands both headers for unsubscribing
 * with one click. Nodemailer's own list lacks the second.
 */
const signedHeaders = [
  'From',
  'Reply-To',
  'To',
  'Subject',
  'Date',
  'Message-ID',
  'MIME-Version',
  'Content-Type',
  'Content-Transfer-Encoding',
  'List-ID',
  'List-Unsubscribe',
  'List-Unsubscribe-Post',
  'Feedback-ID',
].join(':')

function signingOptions({ domain, selector, privateKey }: DkimOptions) {
  return { domainName: domain, keySelector: selector, privateKey, headerFieldNames: signedHeaders }
}

/** @param forceAuth Whether a server that offers no login is an error. */
async function openPool({ tls, ...server }: Server, options: SmtpOptions, forceAuth = false) {
  const { connections = 5, dkim, ca, timeoutMs = 60_000, ehloName } = options
  const { createTransport } = await loadNodemailer()
  const pool = createTransport({
    ...server,
    forceAuth,
    pool: true,
    maxConnections: connections,
    // A connection that the server closed while it was idle is replaced once. The sending loop does all other retries.
    maxRequeues: 1,
    tls: ca === undefined ? tls : { rejectUnauthorized: true, ca },
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    name: ehloName,
    dkim: dkim && signingOptions(dkim),
  })
  // Keeps the stream of each attempt. It is only read after the server has asked for the message.
  pool.use('stream', (mail, done) => {
    const { message, data } = mail
    const create = message.createReadStream.bind(message)
    message.createReadStream = (options) => {
      const stream = create(options)
      ;(data as unknown as HandOver).handOver.stream = stream
      return stream
    }
    done()
  })
  return pool
}

/** Our own field in nodemailer's data of a message: its stream, which shows whether all of it was read. */
interface HandOver {
  readonly handOver: { stream?: { readonly readableEnded: boolean } }
}

/** The id in a reply of Postfix, of Exim, and of Sendmail or OpenSMTPD. */
const serverId = /(?<=queued as <?|\bid=)[^\s<>]{1,200}|\b[\da-z]{8,200}(?= message accepted for delivery)/i

async function sendThrough(pool: Pool, message: MailMessage, signal: AbortSignal): Promise<MailOutcome> {
  const handOver: HandOver['handOver'] = {}
  try {
    const mail: object = { ...mailOptions(message), handOver, signal }
    const { serverMessageId, response } = await pool.sendMail(mail)
    const id = serverMessageId ?? serverId.exec(response)?.[0]
    return { kind: 'sent', ...(id === undefined ? {} : { providerMessageId: id }) }
  } catch (cause) {
    const error = cause as SmtpError
    // A lower reply, such as a second 354, says neither that the message was accepted nor that it was refused. Nodemailer
    // reads it also before the end of the message, and still writes the rest.
    const isAnswered = error.responseCode !== undefined && error.responseCode >= 400
    const isHandedOver = handOver.stream?.readableEnded || (error.code === 'EMESSAGE' && error.command === 'DATA')
    if (!isAnswered && isHandedOver) throw new UncertainError(withoutAddresses(error.message), { cause })
    const outcome = outcomeOf(error, message.to.email)
    // Nodemailer opens the stream once it has connected and logged in.
    const isServerDown = outcome.kind === 'temporary' && handOver.stream === undefined
    return isServerDown ? { ...outcome, isServerDown } : outcome
  }
}
