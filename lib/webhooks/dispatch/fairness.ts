import { groupBy, rotated } from '../../collections.ts'

/** How fast an endpoint answered its last attempt; `unknown` before its first answer. */
type Responsiveness = 'unknown' | 'answering' | 'slow' | 'hanging'

/** How long an attempt took. */
export interface AttemptPace {
  readonly timedOut: boolean
  readonly durationMs: number
}

/** An endpoint that has deliveries due. */
export interface DueEndpoint {
  readonly id: number
  /** The client whose quota the requests count against; 0 for all event handlers. */
  readonly clientId: number
  /** Number of due deliveries. Counting stops at the number that could start. */
  readonly due: number
  /** Whether its last recorded attempt succeeded, in this or an earlier process. */
  readonly proven: boolean
}

/** How many deliveries of an endpoint may be claimed now. */
export interface Allowance {
  readonly endpointId: number
  readonly limit: number
}

interface FairnessLimits {
  /** Maximum requests in flight in total. */
  readonly total: number
  /** Maximum requests in flight to one endpoint. */
  readonly endpoint: number
  /** An attempt that took longer marks its endpoint as slow. */
  readonly slowMs: number
}

interface EndpointState {
  responsiveness: Responsiveness
  inFlight: number
}

interface Candidate {
  readonly due: DueEndpoint
  readonly state: EndpointState
  allowed: number
}

const maxRememberedEndpoints = 10_000

/**
 * Shares the requests in flight fairly, so that endpoints that hang do not delay the others.
 *
 * - An endpoint has at most `limits.endpoint` requests in flight. Before its first answer and after a timeout: one.
 * - A client has at most a quarter of the total.
 * - In the total and in each client's quota, a quarter is reserved for endpoints that answer quickly.
 * - In the total and in each client's quota, endpoints that hang get at most an eighth.
 * - Free slots go to the client with the fewest requests in flight.
 */
export class FairScheduler {
  readonly #limits: FairnessLimits
  readonly #all: Quota
  readonly #clients = new Map<number, Quota>()
  readonly #endpoints = new Map<number, EndpointState>()
  /** Round robin over the endpoints: the next allowance begins after this one. */
  #lastServedId = 0

  constructor(limits: FairnessLimits) {
    this.#limits = limits
    this.#all = new Quota(limits.total)
  }

  get inFlight(): number {
    return this.#all.inFlight
  }

  /** Returns how many deliveries of each endpoint may be claimed now. All of them can start immediately. */
  allow(due: readonly DueEndpoint[]): Allowance[] {
    this.#forgetIdle()
    const ordered = rotated(
      due.toSorted((a, b) => a.id - b.id),
      ({ id }) => id > this.#lastServedId,
    )
    const candidates = ordered.map((one): Candidate => ({ due: one, state: this.#stateOf(one), allowed: 0 }))
    let clients = [...groupBy(candidates, (candidate) => candidate.due.clientId)]
    // Level by level, so that no client gets a second slot before each waiting client has a first one.
    for (let level = 1; clients.length > 0; level++) {
      clients = clients.filter(([id, own]) => this.#quotaOf(id).inFlight >= level || this.#allowOne(own))
    }
    // While they were computed, allowances counted as requests in flight. Undo that.
    for (const { due, state, allowed } of candidates) this.#count(state, due.clientId, -allowed)
    return candidates
      .filter(({ allowed }) => allowed > 0)
      .map(({ due, allowed }) => ({ endpointId: due.id, limit: allowed }))
  }

  started(endpointId: number, clientId: number): void {
    this.#count(this.#stateOf({ id: endpointId, proven: false }), clientId, 1)
  }

  /** @param pace Undefined when mailkeep itself ended the attempt, so that its duration says nothing about the receiver. */
  ended(endpointId: number, clientId: number, pace: AttemptPace | undefined): void {
    const state = this.#stateOf({ id: endpointId, proven: false })
    this.#count(state, clientId, -1)
    if (!pace) return
    const responsiveness = pace.timedOut ? 'hanging' : pace.durationMs > this.#limits.slowMs ? 'slow' : 'answering'
    const quotas = [this.#all, this.#quotaOf(clientId)]
    if (state.responsiveness === 'hanging') for (const quota of quotas) quota.hanging -= state.inFlight
    if (responsiveness === 'hanging') for (const quota of quotas) quota.hanging += state.inFlight
    state.responsiveness = responsiveness
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
    const hasAnswered = state.responsiveness === 'answering' || state.responsiveness === 'slow'
    const maxInFlight = hasAnswered ? this.#limits.endpoint : 1
    if (allowed >= due.due || state.inFlight >= maxInFlight) return false
    const client = this.#quotaOf(due.clientId)
    return this.#all.admits(state.responsiveness, client.inFlight === 0) && client.admits(state.responsiveness, true)
  }

  #count(state: EndpointState, clientId: number, change: number): void {
    const client = this.#quotaOf(clientId)
    state.inFlight += change
    for (const quota of [this.#all, client]) {
      quota.inFlight += change
      if (state.responsiveness === 'hanging') quota.hanging += change
    }
    if (client.inFlight === 0) this.#clients.delete(clientId)
  }

  #quotaOf(clientId: number): Quota {
    const quota = this.#clients.get(clientId) ?? new Quota(Math.max(1, Math.floor(this.#limits.total / 4)))
    this.#clients.set(clientId, quota)
    return quota
  }

  #stateOf({ id, proven }: Pick<DueEndpoint, 'id' | 'proven'>): EndpointState {
    const state = this.#endpoints.get(id) ?? { responsiveness: proven ? 'answering' : 'unknown', inFlight: 0 }
    this.#endpoints.set(id, state)
    return state
  }

  #forgetIdle(): void {
    if (this.#endpoints.size <= maxRememberedEndpoints) return
    for (const [id, { inFlight }] of this.#endpoints) {
      if (inFlight === 0 && this.#endpoints.size > maxRememberedEndpoints / 2) this.#endpoints.delete(id)
    }
  }
}

/** Counts and limits the requests in flight of all clients, or of one. */
class Quota {
  readonly #limit: number
  inFlight = 0
  /** Requests in flight to endpoints that hang. */
  hanging = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /**
   * Returns whether another request may start. A quarter is reserved for endpoints that answer quickly. The first
   * request to an unknown endpoint may use half of that reserve. Endpoints that hang get at most an eighth.
   *
   * @param isFirst For the total quota: whether the client has no request in flight. For a client's quota: always true,
   *   because an unknown endpoint has at most one request in flight.
   */
  admits(responsiveness: Responsiveness, isFirst: boolean): boolean {
    const free = this.#limit - this.inFlight
    if (responsiveness === 'answering') return free > 0
    if (responsiveness === 'hanging' && this.hanging >= Math.max(1, Math.floor(this.#limit / 8))) return false
    return free > Math.floor(this.#limit / (responsiveness === 'unknown' && isFirst ? 8 : 4))
  }
}
