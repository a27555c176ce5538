/** How an endpoint has answered lately; it is not known before its first answer. */
type Standing = 'unknown' | 'answering' | 'hanging'

/** An endpoint's share of the requests in flight: it moves as TCP's window does. */
interface Share {
  window: number
  /** Successes since the window last changed. */
  successes: number
  standing: Standing
  inFlight: number
  /** Retries among them. */
  retries: number
  /** Which kind was served last: the other goes first next time. */
  lastWasRetry: boolean
}

/** Deliveries due at one endpoint. */
export interface DueEndpoint {
  readonly id: number
  readonly clientId: number
  readonly retry: boolean
  /** How many are due; counted up to what could start at all. */
  readonly due: number
  /** Whether its last attempt succeeded, perhaps in a process before this one. */
  readonly proven: boolean
}

/** So many deliveries of an endpoint may start now. */
export interface Grant {
  readonly endpointId: number
  readonly retry: boolean
  readonly limit: number
}

export interface Limits {
  /** Requests in flight, in all. */
  readonly total: number
  /** Requests in flight, to one endpoint. */
  readonly endpoint: number
}

export type Ending = 'success' | 'failure' | 'timeout'

interface Place {
  readonly one: DueEndpoint
  readonly share: Share
  granted: number
}

const initialWindow = 8
const keptShares = 10_000

/**
 * Shares the requests in flight out fairly, so that endpoints that hang, however many and whosever, do not delay the
 * others: each endpoint has a window that grows by one with each full round of successes, halves at a failure, and is
 * one after a time-out until it answers; a client has at most a quarter of all; retries at most half and, when any are
 * due, at least a quarter; and of all, as of each client's part, some is kept for those that answer: see `Room`. What
 * is free goes to the client with the fewest in flight, so that slow answers do not crowd out fast ones.
 */
export class Shares {
  readonly #limits: Limits
  readonly #all: Room
  readonly #clients = new Map<number, Room>()
  readonly #shares = new Map<number, Share>()
  #retries = 0
  /** Claims go round the endpoints: the next begins after the one served last. */
  #lastServed = 0

  constructor(limits: Limits) {
    this.#limits = limits
    this.#all = new Room(limits.total)
  }

  get free(): number {
    return this.#all.free
  }

  /** Whether anything may be claimed now. */
  any(due: readonly DueEndpoint[]): boolean {
    const anyRetries = due.some(({ retry }) => retry)
    return due.some((one) => this.#mayStart({ one, share: this.#shareOf(one.id, one.proven), granted: 0 }, anyRetries))
  }

  /** Says what may be claimed now: never more than can start at once. */
  plan(due: readonly DueEndpoint[]): Grant[] {
    this.#forgetIdle() // not while it is made: what it counts on a share must stay
    const anyRetries = due.some(({ retry }) => retry)
    const places = this.#inTurn(due.map((one) => ({ one, share: this.#shareOf(one.id, one.proven), granted: 0 })))
    let clients = [...byClient(places)]
    for (let level = 1; clients.length > 0; level++) {
      clients = clients.filter(([id, own]) => this.#roomOf(id).inFlight >= level || this.#grant(own, anyRetries))
    }
    // While it was made it counted as started.
    for (const { one, share, granted } of places) this.#count(share, one.clientId, one.retry, -granted)
    const granted = places.filter((place) => place.granted > 0)
    return granted.map(({ one, granted: limit }) => ({ endpointId: one.id, retry: one.retry, limit }))
  }

  started(endpointId: number, clientId: number, retry: boolean): void {
    this.#count(this.#shareOf(endpointId), clientId, retry, 1)
  }

  ended(endpointId: number, clientId: number, retry: boolean, ending: Ending | undefined): void {
    const share = this.#shareOf(endpointId)
    if (ending) this.#learn(share, clientId, ending)
    this.#count(share, clientId, retry, -1)
  }

  #count(share: Share, clientId: number, retry: boolean, by: number): void {
    const client = this.#roomOf(clientId)
    for (const room of [this.#all, client]) {
      room.inFlight += by
      if (share.standing === 'hanging') room.hanging += by
    }
    share.inFlight += by
    if (retry) share.retries += by
    if (retry) this.#retries += by
    if (client.inFlight === 0) this.#clients.delete(clientId)
  }

  #learn(share: Share, clientId: number, ending: Ending): void {
    const before = share.standing
    share.standing = ending === 'timeout' ? 'hanging' : 'answering'
    // What is still in flight there counts as its endpoint does.
    for (const room of [this.#all, this.#roomOf(clientId)]) {
      if (before === 'hanging') room.hanging -= share.inFlight
      if (share.standing === 'hanging') room.hanging += share.inFlight
    }
    if (ending === 'timeout') this.#resize(share, 1)
    else if (before === 'hanging') this.#resize(share, initialWindow)
    else if (ending === 'failure') this.#resize(share, Math.floor(share.window / 2))
    else if (++share.successes >= share.window) this.#resize(share, share.window + 1)
  }

  #resize(share: Share, window: number): void {
    share.window = Math.min(Math.max(window, 1), this.#limits.endpoint)
    share.successes = 0
  }

  /** Grants one more to the client, where it has the fewest of a kind in flight; false when none may start. */
  #grant(places: readonly Place[], anyRetries: boolean): boolean {
    const open = places.filter((place) => this.#mayStart(place, anyRetries))
    if (open.length === 0) return false
    const place = open.reduce((least, one) => (ofKind(one) < ofKind(least) ? one : least))
    place.granted += 1
    place.share.lastWasRetry = place.one.retry
    this.#lastServed = place.one.id
    this.started(place.one.id, place.one.clientId, place.one.retry)
    return true
  }

  #mayStart({ one, share, granted }: Place, anyRetries: boolean): boolean {
    if (granted >= one.due || share.inFlight >= share.window) return false
    const { total } = this.#limits
    const firsts = this.#all.inFlight - this.#retries
    if (one.retry && this.#retries >= atLeastOne(total / 2)) return false
    if (!one.retry && anyRetries && firsts >= atLeastOne(total - atLeastOne(total / 4))) return false
    const client = this.#roomOf(one.clientId)
    return (
      this.#all.admits(share.standing, client.inFlight === 0) && client.admits(share.standing, share.inFlight === 0)
    )
  }

  #roomOf(clientId: number): Room {
    const room = this.#clients.get(clientId) ?? new Room(atLeastOne(this.#limits.total / 4))
    this.#clients.set(clientId, room)
    return room
  }

  #shareOf(endpointId: number, proven = false): Share {
    let share = this.#shares.get(endpointId)
    if (!share) {
      const window = Math.min(initialWindow, this.#limits.endpoint)
      const standing = proven ? 'answering' : 'unknown'
      share = { window, successes: 0, standing, inFlight: 0, retries: 0, lastWasRetry: true }
      this.#shares.set(endpointId, share)
    }
    return share
  }

  #forgetIdle(): void {
    if (this.#shares.size <= keptShares) return
    for (const [id, share] of this.#shares) {
      if (share.inFlight === 0 && this.#shares.size > keptShares / 2) this.#shares.delete(id)
    }
  }

  #inTurn(places: readonly Place[]): Place[] {
    const last = ({ one, share }: Place) => Number(one.retry === share.lastWasRetry)
    const sorted = [...places].sort((a, b) => a.one.id - b.one.id || last(a) - last(b))
    const first = sorted.findIndex(({ one }) => one.id > this.#lastServed)
    return first <= 0 ? sorted : [...sorted.slice(first), ...sorted.slice(0, first)]
  }
}

/**
 * So many requests in flight, of all or of one client. The last quarter is kept for endpoints that answer and for first
 * requests to those not known yet, the last eighth for those that answer; those that hang have a quarter together.
 */
class Room {
  readonly #limit: number
  inFlight = 0
  hanging = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  get free(): number {
    return this.#limit - this.inFlight
  }

  /** @param first Whether nothing is in flight yet: of all, by the client; of a client, at the endpoint. */
  admits(standing: Standing, first: boolean): boolean {
    if (standing === 'answering') return this.free > 0
    if (standing === 'hanging' && this.hanging >= atLeastOne(this.#limit / 4)) return false
    return this.free > Math.floor(this.#limit / (standing === 'unknown' && first ? 8 : 4))
  }
}

function byClient(places: readonly Place[]): Map<number, Place[]> {
  const clients = new Map<number, Place[]>()
  for (const place of places) {
    const own = clients.get(place.one.clientId) ?? []
    own.push(place)
    clients.set(place.one.clientId, own)
  }
  return clients
}

/** In flight at the endpoint, of the place's kind. */
function ofKind({ one, share }: Place): number {
  return one.retry ? share.retries : share.inFlight - share.retries
}

/** Whole, and one where it would be none. */
export function atLeastOne(count: number): number {
  return Math.max(1, Math.floor(count))
}
