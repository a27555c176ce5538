import { groupBy, rotated } from '../../collections.ts'
import { type Clock, toleratedDriftMs } from '../../time.ts'

/** A newsletter or a sequence that is being sent. */
export interface Campaign {
  readonly kind: 'newsletter' | 'sequence'
  readonly id: number
  readonly clientId: number
  /** The sender identity; 0 if a local transport sends without one. */
  readonly identityId: number
}

/** How many messages of a campaign may be claimed now. */
export interface Allowance {
  readonly campaign: Campaign
  readonly limit: number
}

interface Candidate {
  readonly campaign: Campaign
  allowed: number
}

/** The two kinds of mail that share the rate: messages, and confirmation mails of double opt-in. */
export type Party = 'messages' | 'confirmations'

/** Maximum time between two `ask` calls of a party. After it the party counts as idle. */
const maxAskIntervalMs = 2000

/** Capacity of a bucket, in seconds of its rate. A bucket holds at least one message. */
const burstSeconds = 0.1

/** A token bucket: a token is one message. It starts full. Its state is one number, which all processes share. */
class TokenBucket {
  /**
   * Time at which the bucket had no tokens, in milliseconds since 1970. It has as many tokens as its rate gives for the
   * time since then.
   */
  emptyMs = -Infinity
  readonly #rate: number
  readonly #capacityMs: number

  constructor(rate: number) {
    this.#rate = rate
    this.#capacityMs = (1000 * Math.max(1, rate * burstSeconds)) / rate
  }

  /** Number of messages that may be sent now. */
  available(nowMs: number): number {
    this.#fill(nowMs)
    return Math.max(0, Math.floor(((nowMs - this.emptyMs) * this.#rate) / 1000 + 1e-9))
  }

  /** Removes tokens. If it has fewer, none are available until that debt is paid. */
  take(count: number, nowMs: number): void {
    this.#fill(nowMs)
    this.emptyMs += (count * 1000) / this.#rate
  }

  /** Milliseconds until the next message may be sent; 0 if it may be sent now. */
  waitMs(nowMs: number): number {
    if (this.available(nowMs) > 0) return 0
    return Math.max(1, Math.ceil(this.emptyMs + 1000 / this.#rate - nowMs))
  }

  isFull(nowMs: number): boolean {
    return nowMs - this.emptyMs >= this.#capacityMs
  }

  /**
   * Limits the tokens to the capacity. The clock of another process may be slightly ahead. If `emptyMs` is much later
   * than now, the clock was set back, and the bucket counts as full.
   */
  #fill(nowMs: number): void {
    const isPossible = this.emptyMs <= nowMs + toleratedDriftMs
    this.emptyMs = Math.max(isPossible ? this.emptyMs : -Infinity, nowMs - this.#capacityMs)
  }
}

/** Number of identities at which full buckets are dropped, and of clients at which their turns start again. */
const maxRemembered = 10_000

/** The `emptyMs` of the buckets. It is stored in the database, so that all processes share one rate. */
interface PaceState {
  readonly all: number
  /** By client id and identity id, such as `7 3`. Full buckets are missing. */
  readonly identities: Readonly<Record<string, number>>
}

/**
 * Limits the mails per second, in total and for each sender identity. Clients take turns (round robin), and so do the
 * campaigns of each client. While messages and confirmation mails wait, each party gets half of the mails.
 *
 * A transaction calls `load`, `allow`, and `take` for each claimed message, and stores the result of `state`. After its
 * commit it calls `sent` and `passTurns`.
 */
export class Pace {
  readonly #clock: Clock
  readonly #identityRate: number
  /** Whether identities have a lower rate than the total. Otherwise their buckets need no stored state. */
  readonly #hasOwnRate: boolean
  readonly #all: TokenBucket
  readonly #identities = new Map<string, TokenBucket>()
  /** The client of the last turn. The next turn begins with the client after it. */
  #lastClientId = 0
  /** The key of the campaign of each client's last turn, by client id. */
  readonly #lastCampaigns = new Map<number, string>()
  /** The last turn of each client in the last `allow`: campaign keys by client id, in the order of these turns. */
  #turns = new Map<number, string>()
  /** The stored identities. A process without a rate of identities keeps them for processes that have one. */
  #storedIdentities: PaceState['identities'] = {}
  /** When each party last had due mail, in milliseconds since 1970. */
  readonly #askedMs: Record<Party, number> = { messages: -Infinity, confirmations: -Infinity }
  #lastParty: Party | undefined

  constructor(clock: Clock, rate: number, identityRate: number) {
    this.#clock = clock
    this.#identityRate = identityRate
    this.#all = new TokenBucket(rate)
    this.#hasOwnRate = identityRate < rate
  }

  /**
   * Loads the shared state of the buckets. This also discards tokens that a rolled-back transaction took.
   *
   * @param state The stored result of `state`; undefined before the first mail.
   */
  load({ all, identities }: PaceState = { all: -Infinity, identities: {} }): void {
    this.#all.emptyMs = all
    this.#storedIdentities = identities
    this.#identities.clear()
    for (const [key, emptyMs] of Object.entries(identities)) this.#bucketFor(key).emptyMs = emptyMs
  }

  /** Returns the state of the buckets for all processes. Full buckets of identities are left out. */
  state(): PaceState {
    if (!this.#hasOwnRate) return { all: this.#all.emptyMs, identities: this.#storedIdentities }
    const nowMs = this.#clock()
    const busy = [...this.#identities].filter(([, bucket]) => !bucket.isFull(nowMs))
    return { all: this.#all.emptyMs, identities: Object.fromEntries(busy.map(([key, { emptyMs }]) => [key, emptyMs])) }
  }

  /** Records whether a party has due mail. */
  ask(party: Party, hasDue: boolean): void {
    this.#askedMs[party] = hasDue ? this.#clock() : -Infinity
  }

  /** Returns how many confirmation mails may be claimed now. */
  allowConfirmations(due: number): number {
    return Math.min(due, this.#shareOf('confirmations'))
  }

  /** Takes the tokens of claimed confirmation mails. */
  takeConfirmations(count: number): void {
    this.#all.take(count, this.#clock())
  }

  /** Records which party sent last. Call it after the commit, because a transaction may run twice. */
  sent(party: Party): void {
    this.#lastParty = party
  }

  /** Stores the round-robin position of the last `allow`. Call it after the commit, for the same reason. */
  passTurns(): void {
    for (const [clientId, key] of this.#turns) {
      this.#lastClientId = clientId
      if (this.#lastCampaigns.size >= maxRemembered) this.#lastCampaigns.clear()
      this.#lastCampaigns.set(clientId, key)
    }
  }

  /** Milliseconds until another mail may be sent; 0 if one may be sent now. */
  untilNextMs(): number {
    return this.#all.waitMs(this.#clock())
  }

  /** Returns how many messages of each campaign may be claimed now. */
  allow(due: readonly Campaign[], freeSlots: number): Allowance[] {
    const nowMs = this.#clock()
    const left = new Map<TokenBucket, number>()
    let budget = Math.min(freeSlots, this.#shareOf('messages'))
    const candidates = due.map((campaign): Candidate => ({ campaign, allowed: 0 }))
    const byClient = [...groupBy(candidates, ({ campaign }) => campaign.clientId)].sort(([a], [b]) => a - b)
    let clients = rotated(byClient, ([id]) => id > this.#lastClientId)
    const turns = new Map<number, string>()
    while (budget > 0 && clients.length > 0) {
      clients = clients.filter(([clientId, own]) => {
        if (budget === 0) return true
        const chosen = this.#next(own, left, nowMs, turns.get(clientId) ?? this.#lastCampaigns.get(clientId) ?? '')
        if (!chosen) return false
        chosen.allowed += 1
        budget -= 1
        turns.delete(clientId) // so that it is the last one
        turns.set(clientId, keyOf(chosen.campaign))
        return true
      })
    }
    this.#turns = turns
    return candidates
      .filter(({ allowed }) => allowed > 0)
      .map(({ campaign, allowed }) => ({ campaign, limit: allowed }))
  }

  /** Takes the tokens of claimed messages. */
  take(campaign: Campaign, count: number): void {
    const nowMs = this.#clock()
    this.#all.take(count, nowMs)
    this.#bucketOf(campaign).take(count, nowMs)
  }

  /** Milliseconds until a message of one of these campaigns may be sent. */
  waitMs(due: readonly Campaign[]): number {
    const nowMs = this.#clock()
    const identities = due.map((campaign) => this.#bucketOf(campaign).waitMs(nowMs))
    return Math.max(this.untilNextMs(), Math.min(...identities))
  }

  /**
   * Returns how many mails of a party may be sent now. If the other party waits too, each gets half. If the number is
   * odd, the party that did not send last gets one more.
   */
  #shareOf(party: Party): number {
    const nowMs = this.#clock()
    const available = this.#all.available(nowMs)
    const other = party === 'messages' ? 'confirmations' : 'messages'
    if (Math.abs(nowMs - this.#askedMs[other]) > maxAskIntervalMs) return available
    return this.#lastParty === party ? Math.floor(available / 2) : Math.ceil(available / 2)
  }

  /**
   * Chooses a campaign whose sender identity has a token left: the one with the fewest allowed messages. Among equals,
   * campaigns after `lastKey` come first.
   *
   * @param left Tokens that are left of each bucket, which this changes.
   */
  #next(
    own: readonly Candidate[],
    left: Map<TokenBucket, number>,
    nowMs: number,
    lastKey: string,
  ): Candidate | undefined {
    const ordered = rotated([...own].sort(byKey), ({ campaign }) => keyOf(campaign) > lastKey)
    const open = ordered.filter(({ campaign }) => {
      const bucket = this.#bucketOf(campaign)
      return (left.get(bucket) ?? bucket.available(nowMs)) > 0
    })
    const [first, ...rest] = open
    if (!first) return undefined
    const chosen = rest.reduce((fewest, one) => (one.allowed < fewest.allowed ? one : fewest), first)
    const bucket = this.#bucketOf(chosen.campaign)
    left.set(bucket, (left.get(bucket) ?? bucket.available(nowMs)) - 1)
    return chosen
  }

  #bucketOf({ clientId, identityId }: Campaign): TokenBucket {
    return this.#bucketFor(`${clientId} ${identityId}`)
  }

  #bucketFor(key: string): TokenBucket {
    const known = this.#identities.get(key)
    if (known) return known
    if (this.#identities.size >= maxRemembered) this.#forgetFull()
    const bucket = new TokenBucket(this.#identityRate)
    this.#identities.set(key, bucket)
    return bucket
  }

  /** Drops full buckets, because a new bucket is full too. */
  #forgetFull(): void {
    const nowMs = this.#clock()
    for (const [key, bucket] of this.#identities) {
      if (bucket.isFull(nowMs)) this.#identities.delete(key)
    }
  }
}

function keyOf({ kind, id }: Campaign): string {
  return `${kind} ${String(id).padStart(16, '0')}`
}

function byKey(a: Candidate, b: Candidate): number {
  return keyOf(a.campaign) < keyOf(b.campaign) ? -1 : 1
}
