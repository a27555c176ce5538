/** Notifications of Amazon SNS: their signature, and the confirmation of subscriptions. */
import { verify, X509Certificate } from 'node:crypto'
import * as v from 'valibot'
import { invalid, MailkeepError } from '../../errors.ts'
import { parseJson } from '../../parse.ts'
import type { Clock } from '../../time.ts'

export interface SnsOptions {
  /** ARNs of the topics whose notifications are accepted. */
  readonly topics: readonly string[]
  readonly clock: Clock
  /** For tests: reads a URL of Amazon's. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
}

const text = (maxCharacters: number) => v.pipe(v.string(), v.maxLength(maxCharacters))

const Notification = v.object({
  Type: v.picklist(['Notification', 'SubscriptionConfirmation', 'UnsubscribeConfirmation']),
  MessageId: text(100),
  TopicArn: text(400),
  Subject: v.optional(text(1000)),
  Message: text(1_000_000),
  Timestamp: v.pipe(text(100), v.isoTimestamp()),
  SignatureVersion: v.picklist(['1', '2']),
  Signature: v.pipe(text(2000), v.base64()),
  SigningCertURL: text(1000),
  SubscribeURL: v.optional(text(2000)),
  Token: v.optional(text(2000)),
})
type Notification = v.InferOutput<typeof Notification>

/** https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html: the signed fields in their order. */
const signedFields = {
  Notification: ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'],
  SubscriptionConfirmation: ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'],
  UnsubscribeConfirmation: ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'],
} as const

/** SNS repeats a notification for up to an hour. Older ones are replays. */
const maxAgeMs = 90 * 60_000
const maxAheadMs = 15 * 60_000

const maxCertificates = 20
const maxCertificateBytes = 64 * 1024
const fetchTimeoutMs = 5000

/** Returns a function that verifies a notification, and confirms the subscription of a configured topic. */
export function createSnsReceiver({ topics, clock, fetch = globalThis.fetch }: SnsOptions) {
  const certificates = new Map<string, X509Certificate>()

  /**
   * @param body The body of SNS's request.
   * @returns The message of a notification; undefined for other requests of SNS.
   * @throws MailkeepError `validation_failed`: not a notification; `forbidden`: another topic, a wrong signature, or too
   *   old; `unavailable`: Amazon's certificate cannot be read now, so SNS must try again.
   */
  return async function receive(body: string): Promise<string | undefined> {
    const notification = parseNotification(body)
    if (!topics.includes(notification.TopicArn)) throw refused('the topic is not configured')
    checkAge(notification, clock())
    await checkSignature(notification)
    if (notification.Type === 'Notification') return notification.Message
    if (notification.Type === 'SubscriptionConfirmation') await confirm(notification)
    return undefined
  }

  async function checkSignature(notification: Notification): Promise<void> {
    const { SigningCertURL, SignatureVersion, Signature } = notification
    const url = requireAmazon(SigningCertURL, notification.TopicArn)
    const isUsual = /^\/SimpleNotificationService-[\da-f]{32}\.pem$/.test(url.pathname) && url.search === ''
    if (!isUsual) throw refused('the certificate is not at a URL of SNS')
    const certificate = await certificateAt(url.href)
    const signed = signedFields[notification.Type]
      .filter((name) => notification[name] !== undefined)
      .map((name) => `${name}\n${notification[name]}\n`)
      .join('')
    const algorithm = SignatureVersion === '1' ? 'RSA-SHA1' : 'RSA-SHA256'
    const now = clock()
    const isCurrent = Date.parse(certificate.validFrom) <= now && now <= Date.parse(certificate.validTo)
    const isRight = verify(algorithm, Buffer.from(signed), certificate.publicKey, Buffer.from(Signature, 'base64'))
    if (!isCurrent || !isRight) throw refused('the signature is wrong')
  }

  async function certificateAt(url: string): Promise<X509Certificate> {
    const known = certificates.get(url)
    if (known) return known
    const pem = await read(url)
    try {
      const certificate = new X509Certificate(pem)
      if (certificates.size >= maxCertificates) certificates.clear()
      certificates.set(url, certificate)
      return certificate
    } catch (cause) {
      throw unavailable(cause)
    }
  }

  async function confirm({ SubscribeURL = '', TopicArn }: Notification): Promise<void> {
    await read(requireAmazon(SubscribeURL, TopicArn).href)
  }

  async function read(url: string): Promise<string> {
    try {
      const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(fetchTimeoutMs) })
      let bytes = Buffer.alloc(0)
      for await (const chunk of response.body ?? []) {
        bytes = Buffer.concat([bytes, chunk])
        if (bytes.length > maxCertificateBytes) throw new Error('the answer is too long')
      }
      if (!response.ok) throw new Error(`the answer has the status ${response.status}`)
      return bytes.toString('utf8')
    } catch (cause) {
      throw unavailable(cause)
    }
  }
}

function parseNotification(body: string): Notification {
  const json = parseJson(body)
  if (json === undefined) throw new MailkeepError('invalid_json', 'The body must be JSON.')
  const result = v.safeParse(Notification, json)
  if (result.success) return result.output
  throw invalid(v.getDotPath(result.issues[0]) ?? 'body', 'The body is not a notification of Amazon SNS.')
}

function checkAge({ Timestamp }: Notification, now: number): void {
  const ageMs = now - Date.parse(Timestamp)
  if (ageMs > maxAgeMs || ageMs < -maxAheadMs) throw refused('it is too old, or from the future')
}

/** Returns a URL of SNS in the region of the topic. The host is pinned: no other host can sign or be asked. */
function requireAmazon(given: string, topic: string): URL {
  const region = topic.split(':')[3] ?? ''
  const hosts = [`sns.${region}.amazonaws.com`, `sns.${region}.amazonaws.com.cn`]
  const url = URL.canParse(given) ? new URL(given) : undefined
  const isPlain = url?.protocol === 'https:' && url.port === '' && url.username === '' && url.password === ''
  if (!url || !isPlain || !hosts.includes(url.hostname)) throw refused('a URL in it is not of SNS')
  return url
}

function refused(why: string): MailkeepError {
  return new MailkeepError('forbidden', `The notification is refused: ${why}.`)
}

function unavailable(cause: unknown): MailkeepError {
  return new MailkeepError('unavailable', 'Amazon SNS did not answer correctly: try again.', { cause })
}
