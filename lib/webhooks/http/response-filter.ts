import type { Socket } from 'node:net'

/** Counts all bytes read from the socket: interim responses, headers, chunk sizes, body and trailers. */
const maxBytesPerAttempt = 128 * 1024
/** Counts the bytes of interim responses (1xx). */
const maxInterimBytesPerAttempt = 16 * 1024

/**
 * Bytes that the parser gets at a time. It reads all of them, also if they have too many headers: for each header more it
 * creates an error. An answer of short headers took 100 ms.
 */
const maxBytesPerRead = 1024

const interimStart = 'HTTP/1.1 1'
const statusLineStartLength = 'HTTP/1.1 100'.length
const endOfHead = '\r\n\r\n'
const empty = Buffer.alloc(0)

/**
 * Filters the bytes between a connection's socket and the HTTP parser. It limits how much a receiver may send in one
 * attempt. It also drops interim responses (RFC 9110, 15.2), such as an unrequested `100 Continue`, which undici's parser
 * rejects. It passes `101 Switching Protocols` on, because the parser rejects it.
 */
export class ResponseFilter {
  #bytesLeft = maxBytesPerAttempt
  #interimBytesLeft = maxInterimBytesPerAttempt
  /** The start of a head that may be an interim response, until its end arrives. */
  #held: Buffer = empty
  #finalResponse = false
  #onOverflow = (_reason: string) => {}

  /** @param onOverflow Called once when the receiver sends too much; it must end the attempt. */
  startAttempt(onOverflow: (reason: string) => void): void {
    this.#bytesLeft = maxBytesPerAttempt
    this.#interimBytesLeft = maxInterimBytesPerAttempt
    this.#held = empty
    this.#finalResponse = false
    this.#onOverflow = onOverflow
  }

  /** Replaces `socket.read()`, from which undici's parser reads. */
  attach(socket: Socket): void {
    const read = socket.read.bind(socket)
    socket.read = () =>
      this.#read(() => (socket.destroyed ? null : read(Math.min(maxBytesPerRead, socket.readableLength) || undefined)))
  }

  /** @returns The next bytes for the parser; null when there are none now. */
  #read(readSocket: () => Buffer | null): Buffer | null {
    for (;;) {
      if (this.#bytesLeft <= 0) return this.#overflow(`more than ${maxBytesPerAttempt / 1024} KiB`)
      const chunk = readSocket()
      if (chunk === null) return null
      const allowed = chunk.subarray(0, this.#bytesLeft)
      this.#bytesLeft -= allowed.length
      const passed = this.#finalResponse ? allowed : this.#dropInterim(allowed)
      if (passed.length > 0) return passed
      if (this.#interimBytesLeft < 0) {
        return this.#overflow(`more than ${maxInterimBytesPerAttempt / 1024} KiB of interim responses`)
      }
    }
  }

  #overflow(amount: string): null {
    this.#onOverflow(`The receiver sent ${amount}.`)
    return null
  }

  /** @returns The bytes without interim responses; empty while the kind of the response is not known. */
  #dropInterim(chunk: Buffer): Buffer {
    let bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk])
    this.#held = empty
    while (bytes.length > 0) {
      const kind = kindOf(bytes)
      if (kind === 'final') {
        this.#finalResponse = true
        return bytes
      }
      const end = kind === 'interim' ? bytes.indexOf(endOfHead) : -1
      if (end < 0) {
        this.#held = Buffer.from(bytes)
        if (bytes.length > this.#interimBytesLeft) this.#interimBytesLeft = -1
        return empty
      }
      this.#interimBytesLeft -= end + endOfHead.length
      if (this.#interimBytesLeft < 0) return empty
      bytes = bytes.subarray(end + endOfHead.length)
    }
    return empty
  }
}

function kindOf(bytes: Buffer): 'interim' | 'final' | 'unknown' {
  const start = bytes.toString('latin1', 0, statusLineStartLength)
  if (!interimStart.startsWith(start.slice(0, interimStart.length))) return 'final'
  if (start.length < statusLineStartLength) return 'unknown'
  return /^HTTP\/1\.1 1(?!01)\d\d$/.test(start) ? 'interim' : 'final'
}
