/** How an endpoint has answered lately; it is not known before its first answer. */
type Standing = 'unknown' | 'answering' | 'hanging'

/** An endpoint's share of the requests in flight: it moves as TCP's window does. */
interface Share {
  readonly clientId: number
  window: number
  /** Successes since the window last changed. */
  successes: number
  standing: Standing
  inFlight: number
}

/** Deliveries due at one endpoint. */
export interface DueEndpoint {
  readonly id: number
  readonly clientId: number
  readonly retry: boolean
  /** How many are due; counted up to what could start at all. */
  readonly due: number
}

/** So many deliveries of an endpoint may start now. */
export interface Grant {
  readonly endpointId: number
  readonly retry: boolean
  limit: number
}

export interface Limits {
  /** Requests in flight, in all. */
  readonly total: number
  /** Requests in flight, to one endpoint. */
  readonly endpoint: number
}

export type Ending = 'success' | 'failure' | 'timeout'

const initialWindow = 8
const keptShares = 10_000

/**
 * Shares the requests in flight out fairly, so that endpoints that hang, however many and whosever, do not delay the
 * others: each endpoint has a window that grows by one with each full round of successes, halves at a failure, and is
 * one after a time-out until it answers; a client has at most a quarter of all; retries at most half and, when any are
 * due, at least a quarter; endpoints that hang together a quarter; and the last quarter is kept for endpoints that
 * answer, and for a first request to one not known yet.
 */
export class Shares {
  readonly #limits: Limits
  readonly #shares = new Map<number, Share>()
  readonly #ofClient = new Map<number, number>()
  #inFlight = 0
  #retries = 0
  #hanging = 0
  /** Claims go round the endpoints: the next begins after the one served last. */
  #lastServed = 0

  constructor(limits: Limits) {
    this.#limits = limits
  }

  get free(): number {
    return this.#limits.total - this.#inFlight
  }

  /** Says what may be claimed now: never more than can start at once. */
  plan(due: readonly DueEndpoint[]): Grant[] {
    const draft = new Draft(
      this.#limits,
      this.#inFlight,
      this.#retries,
      this.#hanging,
      due.some(({ retry }) => retry),
    )
    const places = this.#inTurn(due).map((one) => ({ one, share: this.#shareOf(one.id, one.clientId), granted: 0 }))
    for (let open = places; open.length > 0; ) {
      open = open.filter((place) => {
        const inFlight = place.share.inFlight + draft.of(place.one.id)
        if (place.granted >= place.one.due || inFlight >= place.share.window) return false
        const ofClient = this.#ofClient.get(place.one.clientId) ?? 0
        if (!draft.take(place.one, place.share.standing, inFlight, ofClient)) return false
        place.granted += 1
        this.#lastServed = place.one.id
        return true
      })
    }
    return places
      .filter(({ granted }) => granted > 0)
      .map(({ one, granted }) => ({ endpointId: one.id, retry: one.retry, limit: granted }))
  }

  started(endpointId: number, clientId: number, retry: boolean): void {
    const share = this.#shareOf(endpointId, clientId)
    share.inFlight += 1
    this.#ofClient.set(clientId, (this.#ofClient.get(clientId) ?? 0) + 1)
    this.#inFlight += 1
    if (retry) this.#retries += 1
    if (share.standing === 'hanging') this.#hanging += 1
  }

  ended(endpointId: number, clientId: number, retry: boolean, ending: Ending | undefined): void {
    const share = this.#shareOf(endpointId, clientId)
    if (share.standing === 'hanging') this.#hanging -= 1
    share.inFlight -= 1
    this.#inFlight -= 1
    if (retry) this.#retries -= 1
    const ofClient = this.#ofClient.get(clientId)! - 1
    if (ofClient > 0) this.#ofClient.set(clientId, ofClient)
    else this.#ofClient.delete(clientId)
    if (ending) this.#learn(share, ending)
  }

  #learn(share: Share, ending: Ending): void {
    const before = share.standing
    share.standing = ending === 'timeout' ? 'hanging' : 'answering'
    // What is still in flight there counts as its endpoint does.
    if (before === 'hanging') this.#hanging -= share.inFlight
    if (share.standing === 'hanging') this.#hanging += share.inFlight
    if (ending === 'timeout') this.#resize(share, 1)
    else if (before === 'hanging') this.#resize(share, initialWindow)
    else if (ending === 'failure') this.#resize(share, Math.floor(share.window / 2))
    else if (++share.successes >= share.window) this.#resize(share, share.window + 1)
  }

  #resize(share: Share, window: number): void {
    share.window = Math.min(Math.max(window, 1), this.#limits.endpoint)
    share.successes = 0
  }

  #shareOf(endpointId: number, clientId: number): Share {
    let share = this.#shares.get(endpointId)
    if (!share) {
      const window = Math.min(initialWindow, this.#limits.endpoint)
      share = { clientId, window, successes: 0, standing: 'unknown', inFlight: 0 }
      this.#shares.set(endpointId, share)
      if (this.#shares.size > keptShares) this.#forgetIdle()
    }
    return share
  }

  #forgetIdle(): void {
    for (const [id, share] of this.#shares) {
      if (share.inFlight === 0 && this.#shares.size > keptShares / 2) this.#shares.delete(id)
    }
  }

  #inTurn(due: readonly DueEndpoint[]): DueEndpoint[] {
    const sorted = [...due].sort((a, b) => a.id - b.id)
    const first = sorted.findIndex(({ id }) => id > this.#lastServed)
    return first <= 0 ? sorted : [...sorted.slice(first), ...sorted.slice(0, first)]
  }
}

/** One plan being made: what it would add to what is in flight. */
class Draft {
  readonly #quarter: number
  readonly #limits: Limits
  readonly #anyRetries: boolean
  readonly #ofEndpoint = new Map<number, number>()
  readonly #ofClient = new Map<number, number>()
  #inFlight: number
  #retries: number
  #hanging: number

  constructor(limits: Limits, inFlight: number, retries: number, hanging: number, anyRetries: boolean) {
    this.#limits = limits
    this.#quarter = Math.max(1, Math.floor(limits.total / 4))
    this.#inFlight = inFlight
    this.#retries = retries
    this.#hanging = hanging
    this.#anyRetries = anyRetries
  }

  of(endpointId: number): number {
    return this.#ofEndpoint.get(endpointId) ?? 0
  }

  /** Takes a place, if the bounds leave one. */
  take(one: DueEndpoint, standing: Standing, inFlight: number, clientInFlight: number): boolean {
    const ofClient = this.#ofClient.get(one.clientId) ?? 0
    if (this.#inFlight >= this.#limits.total) return false
    if (clientInFlight + ofClient >= this.#quarter) return false
    if (!this.#laneIsOpen(one.retry)) return false
    if (standing === 'hanging' && this.#hanging >= this.#quarter) return false
    if (this.#isLastQuarter() && standing !== 'answering' && !(standing === 'unknown' && inFlight === 0)) return false
    this.#ofClient.set(one.clientId, ofClient + 1)
    this.#ofEndpoint.set(one.id, this.of(one.id) + 1)
    this.#inFlight += 1
    if (one.retry) this.#retries += 1
    if (standing === 'hanging') this.#hanging += 1
    return true
  }

  #laneIsOpen(retry: boolean): boolean {
    if (retry) return this.#retries < Math.max(1, Math.floor(this.#limits.total / 2))
    return !this.#anyRetries || this.#inFlight - this.#retries < Math.max(1, this.#limits.total - this.#quarter)
  }

  #isLastQuarter(): boolean {
    return this.#inFlight >= this.#limits.total - this.#quarter && this.#limits.total >= 4
  }
}
