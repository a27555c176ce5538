/** How an endpoint answered its last attempt; `unknown` before its first answer. */
export type Standing = 'unknown' | 'answering' | 'slow' | 'hanging'

/** What an attempt says about its endpoint. */
export interface AttemptPace {
  readonly timedOut: boolean
  readonly durationMs: number
}

/** An endpoint that has deliveries due. */
export interface DueEndpoint {
  readonly id: number
  /** Whose share of the requests in flight it takes; 0: the handlers of the host's process. */
  readonly clientId: number
  /** How many are due, counted up to the most that could start. */
  readonly due: number
  /** Whether its last recorded attempt succeeded, perhaps in an earlier process. */
  readonly proven: boolean
}

/** How many deliveries of an endpoint may be claimed now. */
export interface Allowance {
  readonly endpointId: number
  readonly limit: number
}

export interface FairnessLimits {
  /** Requests in flight, in all. */
  readonly total: number
  /** Requests in flight, to one endpoint. */
  readonly endpoint: number
  /** An attempt that took longer makes its endpoint slow. */
  readonly slowMs: number
}

interface EndpointState {
  standing: Standing
  inFlight: number
}

interface Candidate {
  readonly due: DueEndpoint
  readonly state: EndpointState
  allowed: number
}

const maxRememberedEndpoints = 10_000

/**
 * Shares the requests in flight so that endpoints that hang do not delay the others, however many there are and
 * whichever client owns them.
 *
 * - An endpoint has at most `limits.endpoint` requests in flight, and one until it has answered or after a time-out.
 * - A client has at most a quarter of all.
 * - Of all requests, and of each client's, a quarter is kept for endpoints that answer quickly, and endpoints that hang
 *   have an eighth.
 * - Free places go to the client with the fewest requests in flight.
 */
export class FairScheduler {
  readonly #limits: FairnessLimits
  readonly #all: Places
  readonly #clients = new Map<number, Places>()
  readonly #endpoints = new Map<number, EndpointState>()
  /** Endpoints take turns: the next allowance begins after this one. */
  #lastServedId = 0

  constructor(limits: FairnessLimits) {
    this.#limits = limits
    this.#all = new Places(limits.total)
  }

  get inFlight(): number {
    return this.#all.inFlight
  }

  /** Returns what may be claimed now: never more than can start at once. */
  allow(due: readonly DueEndpoint[]): Allowance[] {
    this.#forgetIdle()
    const candidates = this.#inTurn(due).map((one) => ({ due: one, state: this.#stateOf(one), allowed: 0 }))
    let clients = [...byClient(candidates)]
    // Level by level: nobody gets a second place before each client in need has a first.
    for (let level = 1; clients.length > 0; level++) {
      clients = clients.filter(([id, own]) => this.#placesOf(id).inFlight >= level || this.#allowOne(own))
    }
    // Allowances counted as in flight while they were made.
    for (const { due, state, allowed } of candidates) this.#count(state, due.clientId, -allowed)
    return candidates
      .filter(({ allowed }) => allowed > 0)
      .map(({ due, allowed }) => ({ endpointId: due.id, limit: allowed }))
  }

  started(endpointId: number, clientId: number): void {
    this.#count(this.#stateOf({ id: endpointId, proven: false }), clientId, 1)
  }

  /** @param pace Undefined when the attempt says nothing about the receiver: it was cut from this side. */
  ended(endpointId: number, clientId: number, pace: AttemptPace | undefined): void {
    const state = this.#stateOf({ id: endpointId, proven: false })
    this.#count(state, clientId, -1)
    if (!pace) return
    const standing = pace.timedOut ? 'hanging' : pace.durationMs > this.#limits.slowMs ? 'slow' : 'answering'
    const places = [this.#all, this.#placesOf(clientId)]
    if (state.standing === 'hanging') for (const one of places) one.hanging -= state.inFlight
    if (standing === 'hanging') for (const one of places) one.hanging += state.inFlight
    state.standing = standing
  }

  #allowOne(candidates: readonly Candidate[]): boolean {
    const open = candidates.filter((one) => this.#mayStart(one))
    const [first, ...rest] = open
    if (!first) return false
    const chosen = rest.reduce((fewest, one) => (one.state.inFlight < fewest.state.inFlight ? one : fewest), first)
    chosen.allowed += 1
    this.#lastServedId = chosen.due.id
    this.#count(chosen.state, chosen.due.clientId, 1)
    return true
  }

  #mayStart({ due, state, allowed }: Candidate): boolean {
    if (allowed >= due.due || state.inFlight >= this.#maxInFlight(state)) return false
    const client = this.#placesOf(due.clientId)
    return (
      this.#all.admits(state.standing, client.inFlight === 0) && client.admits(state.standing, state.inFlight === 0)
    )
  }

  #maxInFlight({ standing }: EndpointState): number {
    return standing === 'answering' || standing === 'slow' ? this.#limits.endpoint : 1
  }

  #count(state: EndpointState, clientId: number, change: number): void {
    const client = this.#placesOf(clientId)
    state.inFlight += change
    for (const places of [this.#all, client]) {
      places.inFlight += change
      if (state.standing === 'hanging') places.hanging += change
    }
    if (client.inFlight === 0) this.#clients.delete(clientId)
  }

  #placesOf(clientId: number): Places {
    const places = this.#clients.get(clientId) ?? new Places(atLeastOne(this.#limits.total / 4))
    this.#clients.set(clientId, places)
    return places
  }

  #stateOf({ id, proven }: Pick<DueEndpoint, 'id' | 'proven'>): EndpointState {
    const state = this.#endpoints.get(id) ?? { standing: proven ? 'answering' : 'unknown', inFlight: 0 }
    this.#endpoints.set(id, state)
    return state
  }

  #forgetIdle(): void {
    if (this.#endpoints.size <= maxRememberedEndpoints) return
    for (const [id, { inFlight }] of this.#endpoints) {
      if (inFlight === 0 && this.#endpoints.size > maxRememberedEndpoints / 2) this.#endpoints.delete(id)
    }
  }

  #inTurn(due: readonly DueEndpoint[]): DueEndpoint[] {
    const sorted = [...due].sort((a, b) => a.id - b.id)
    const first = sorted.findIndex(({ id }) => id > this.#lastServedId)
    return first <= 0 ? sorted : [...sorted.slice(first), ...sorted.slice(0, first)]
  }
}

/** The requests in flight of all clients, or of one. */
class Places {
  readonly #limit: number
  inFlight = 0
  /** Those to endpoints that hang. */
  hanging = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /**
   * Returns whether another request may start. A quarter is kept for endpoints that answer quickly; the first request of
   * a client, or of a client's endpoint, that is unknown may use half of it. Endpoints that hang have at most an eighth.
   *
   * @param isFirst Whether nothing is in flight yet: in all, for the client; of a client, for the endpoint.
   */
  admits(standing: Standing, isFirst: boolean): boolean {
    const free = this.#limit - this.inFlight
    if (standing === 'answering') return free > 0
    if (standing === 'hanging' && this.hanging >= atLeastOne(this.#limit / 8)) return false
    return free > Math.floor(this.#limit / (standing === 'unknown' && isFirst ? 8 : 4))
  }
}

function byClient(candidates: readonly Candidate[]): Map<number, Candidate[]> {
  const clients = new Map<number, Candidate[]>()
  for (const candidate of candidates) {
    const own = clients.get(candidate.due.clientId)
    if (own) own.push(candidate)
    else clients.set(candidate.due.clientId, [candidate])
  }
  return clients
}

/** Rounded down, but at least 1. */
export function atLeastOne(count: number): number {
  return Math.max(1, Math.floor(count))
}
