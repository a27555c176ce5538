import type { Dispatcher as Connections } from 'undici'
import type { Clock } from '../../time.ts'
import { version } from '../../version.ts'
import { retryAfterMs } from '../dispatch/retry.ts'
import type { WebhookSettings } from '../settings.ts'
import type { OwnRequest, Pools } from './connections.ts'
import { guardedLookup, type LookupSettings, RefusedAddress } from './resolve.ts'
import { signContract, signStandard } from './signature.ts'
import { urlProblem } from './url-rule.ts'

/** The data of one delivery request. */
export interface Request {
  readonly url: string
  readonly secret: string
  /** The secret before a rotation, while it signs too. */
  readonly previousSecret: string | null
  /** The delivery's uuid. It is the same in each retry, so that receivers can drop repeats. */
  readonly deliveryId: string
  readonly eventType: string
  readonly body: string
}

/** How an attempt ended. */
export type Outcome =
  /** The receiver answered. `body` is cut at a limit. */
  | {
      readonly kind: 'answered'
      readonly status: number
      readonly body: string
      readonly retryAfterMs?: number | undefined
    }
  /** No answer, or an incomplete one. `status` and `retryAfterMs` are those of its head, if that arrived. */
  | {
      readonly kind: 'failed'
      readonly error: string
      readonly timedOut: boolean
      readonly status?: number | undefined
      readonly retryAfterMs?: number | undefined
    }
  /** An event handler returned. */
  | { readonly kind: 'handled' }
  /** An event handler threw. `body` is the error's text. */
  | { readonly kind: 'threw'; readonly error: string; readonly body: string }
  /** An internal error of mailkeep. It says nothing about the receiver. */
  | { readonly kind: 'fault'; readonly cause: unknown }
  /** No request was sent, because the address is refused. */
  | { readonly kind: 'refused'; readonly error: string }
  /** Mailkeep aborted the attempt. */
  | { readonly kind: 'interrupted' }

/** An attempt in flight. */
export interface Sending {
  readonly outcome: Promise<Outcome>
  abort(): void
}

export interface Sender {
  send(request: Request): Sending
  close(): Promise<void>
}

/** An answer's body is read up to this size. Then the connection is closed. */
const maxBodyBytesRead = 64 * 1024
/** Only this much of an answer's body is stored. */
const maxBodyBytesStored = 4096
const maxUtf8BytesPerCodeUnit = 3

/** Creates a sender. Connections check addresses and are kept alive. */
export function createSender(settings: WebhookSettings, clock: Clock, lookup: LookupSettings = {}): Sender {
  let pools: Pools | undefined
  const load = async (): Promise<Pools> => {
    const connections = await import('./connections.ts')
    pools ??= new connections.Pools(guardedLookup(settings, lookup), settings.concurrency)
    return pools
  }
  return {
    send(request) {
      // Before each attempt, because settings may have changed since the endpoint was created. `guardedLookup` checks the
      // addresses of a name, but `net.connect` never calls it for a literal address. So both checks are needed.
      const problem = urlProblem(request.url, settings)
      if (problem) return { outcome: Promise.resolve({ kind: 'refused', error: problem }), abort: () => {} }
      const { origin, pathname, search } = new URL(request.url) // the parser with which it was checked
      const answer = new AnswerReader(clock, settings.timeoutSeconds * 1000)
      const headers = headersOf(request, clock())
      const own: OwnRequest = { method: 'POST', path: pathname + search, headers, body: request.body, answer }
      const dispatch = (loaded: Pools) => answer.isOver || loaded.of(origin).dispatch(own, answer)
      const fail = (error: Error) => answer.failedBy(error)
      if (pools) dispatch(pools)
      else load().then(dispatch).catch(fail)
      return { outcome: answer.outcome, abort: () => answer.end({ kind: 'interrupted' }) }
    },
    async close() {
      await pools?.close()
    },
  }
}

/** Returns the headers of one attempt, with its timestamp and signatures. */
export function headersOf(request: Request, nowMs: number): Record<string, string> {
  const { secret, previousSecret, deliveryId, eventType, body } = request
  const seconds = Math.floor(nowMs / 1000)
  // During a rotation the previous secret signs too. Standard Webhooks separates signatures with spaces.
  const secrets = previousSecret === null ? [secret] : [secret, previousSecret]
  return {
    'content-type': 'application/json',
    'user-agent': `mailkeep/${version}`,
    'x-service-signature': signContract(secret, seconds, body),
    'x-service-timestamp': String(seconds),
    'x-service-event': eventType,
    'x-service-delivery': deliveryId,
    'webhook-id': deliveryId,
    'webhook-timestamp': String(seconds),
    'webhook-signature': secrets.map((one) => signStandard(one, deliveryId, seconds, body)).join(' '),
  }
}

type Controller = Connections.DispatchController

/** Collects one answer. The first event that ends the request sets the outcome; later ones are ignored. */
class AnswerReader implements Connections.DispatchHandler {
  #resolve!: (outcome: Outcome) => void
  readonly outcome = new Promise<Outcome>((resolve) => {
    this.#resolve = resolve
  })
  hangUp = () => {}
  readonly #clock: Clock
  readonly #timer: NodeJS.Timeout
  readonly #chunks: Buffer[] = []
  #started = false
  #ended = false
  #status: number | undefined
  #retryAfterMs: number | undefined
  #read = 0

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock
    this.#timer = setTimeout(() => this.#fail(`No complete answer within ${timeoutMs / 1000} s.`, true), timeoutMs)
  }

  onRequestStart(controller: Controller): void {
    this.#started = true
    if (this.#ended) controller.abort(new Error('The attempt is over.'))
  }

  onResponseStart(_: Controller, status: number, headers: Record<string, string | string[] | undefined>): void {
    // Undici's parser asserts that these never come. Its error would look like a fault of mailkeep.
    if (status < 100 || status === 101) this.#fail(`The receiver sent the status ${status}.`, false)
    if (status < 200) return
    this.#status = status
    const value = headers['retry-after']
    this.#retryAfterMs = retryAfterMs(status, Array.isArray(value) ? value[0] : value, this.#clock())
    // A 204 ends with its head (RFC 9110, 6.4.1). Undici rejects one whose head declares a body.
    if (status === 204) this.#answered()
  }

  onResponseData(_: Controller, chunk: Buffer): void {
    if (this.#read < maxBodyBytesStored) this.#chunks.push(chunk.subarray(0, maxBodyBytesStored - this.#read))
    this.#read += chunk.length
    if (this.#read >= maxBodyBytesRead) this.#answered()
  }

  onResponseEnd(): void {
    this.#answered()
  }

  onResponseError(_: Controller, error: Error): void {
    this.failedBy(error)
  }

  failedBy(error: Error): void {
    if (error instanceof RefusedAddress) this.end({ kind: 'refused', error: error.message })
    else if (isOwnFault(error)) this.end({ kind: 'fault', cause: error })
    else this.#fail(describe(error), isTimeout(error))
  }

  get isOver(): boolean {
    return this.#ended
  }

  /** Ends the attempt with this outcome, unless it has already ended. */
  end(outcome: Outcome): void {
    if (this.#ended) return
    this.#ended = true
    clearTimeout(this.#timer)
    this.#resolve(outcome)
    // After a complete answer the next request can reuse the connection.
    const complete = outcome.kind === 'answered' && this.#read < maxBodyBytesRead
    if (this.#started && !complete) this.hangUp()
  }

  /** Ends the attempt because the receiver sent too much. If the status arrived, the outcome is a normal answer. */
  cutShort(reason: string): void {
    if (this.#status === undefined) this.#fail(reason, false)
    else this.#answered()
    this.hangUp() // also after a complete answer, so that the connection is not reused
  }

  #answered(): void {
    const body = textOf(Buffer.concat(this.#chunks))
    this.end({ kind: 'answered', status: this.#status!, body, retryAfterMs: this.#retryAfterMs })
  }

  #fail(error: string, timedOut: boolean): void {
    this.end({ kind: 'failed', error, timedOut, status: this.#status, retryAfterMs: this.#retryAfterMs })
  }
}

/** Decodes the body and cuts it again: replacement characters are long. PostgreSQL cannot store NUL. */
function textOf(bytes: Buffer): string {
  const text = bytes.toString('utf8').replaceAll('\0', '\ufffd')
  if (text.length * maxUtf8BytesPerCodeUnit <= maxBodyBytesStored) return text
  return text.slice(0, new TextEncoder().encodeInto(text, new Uint8Array(maxBodyBytesStored)).read)
}

function isTimeout(error: Error): boolean {
  return /TIMEOUT|TIMEDOUT/.test((error as NodeJS.ErrnoException).code ?? '')
}

/** Describes the error by its code. Its message may contain addresses. */
function describe(error: Error): string {
  const { code } = error as NodeJS.ErrnoException
  return code ? `The request failed: ${code}.` : `The request failed: ${error.name}.`
}

/** Error codes of Node and undici for wrong use, a missing module, and exhausted resources of this process. */
const ownFaultCodes =
  /^(?:ERR_(?:INVALID|MODULE|PACKAGE|UNSUPPORTED|UNKNOWN|REQUIRE|DLOPEN|INTERNAL|ASSERTION|METHOD|OUT_OF|BUFFER|WORKER|VM)\w*|MODULE_NOT_FOUND|UND_ERR_(?:INVALID\w*|ABORTED|DESTROYED|CLOSED|NOT_SUPPORTED|REQ_\w+)|EMFILE|ENFILE|ENOBUFS|ENOMEM)$/

/**
 * Returns whether mailkeep itself caused the error. Errors of the receiver or the network have a code of the operating
 * system, DNS, TLS or HTTP. Some parser errors of undici have no code; the receiver caused those too.
 */
function isOwnFault(error: Error): boolean {
  const { code } = error as NodeJS.ErrnoException
  if (typeof code === 'string') return ownFaultCodes.test(code)
  return error.name !== 'HTTPParserError'
}
