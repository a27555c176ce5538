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

/** A party that has not asked for so long has nothing to send, or its loop does not run. */
const maxAskIntervalMs = 2000

/** The share of a second's messages that may be sent at once. */
const burstSeconds = 0.1

/** A token bucket. It starts full. Its state is one number, which all processes share. */
class TokenBucket {
  /** When it was, or would have been, empty, in milliseconds since 1970. */
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

  /** The clock of another process may be ahead. If `emptyMs` is much later than now, the clock was set back: the bucket is full. */
  #fill(nowMs: number): void {
    const isPossible = this.emptyMs <= nowMs + toleratedDriftMs
    this.emptyMs = Math.max(isPossible ? this.emptyMs : -Infinity, nowMs - this.#capacityMs)
  }
}

/** Maximum identities, and clients, that are remembered. */
const maxRemembered = 10_000

/** When the token buckets were empty, in milliseconds since 1970. Stored, so that all processes keep to one pace. */
interface PaceState {
  readonly all: number
  /** By client and identity. */
  readonly identities: Readonly<Record<string, number>>
}

/**
 * Limits the mails a second, in all and of each sender identity, and shares them between clients: no client gets a second
 * message before each client that waits has a first one. Messages and confirmation mails get every second mail while both
 * wait.
 */
export class Pace {
  readonly #clock: Clock
  readonly #identityRate: number
  /** Whether identities have a lower rate than all together. Otherwise theirs needs no state. */
  readonly #hasOwnRate: boolean
  readonly #all: TokenBucket
  readonly #identities = new Map<string, TokenBucket>()
  /** Round robin over the clients, and over the campaigns of each client: the next turn begins after these. */
  #lastClientId = 0
  readonly #lastCampaigns = new Map<number, string>()
  /** The turns that `allow` has given: the last campaign of each client, and the last client at the end. */
  #turns = new Map<number, string>()
  /** The identities of the stored state, for processes in which identities have a rate. */
  #storedIdentities: PaceState['identities'] = {}
  /** When each party last had something to send. */
  readonly #askedMs: Record<Party, number> = { messages: -Infinity, confirmations: -Infinity }
  #lastParty: Party | undefined

  constructor(clock: Clock, rate: number, identityRate: number) {
    this.#clock = clock
    this.#identityRate = identityRate
    this.#all = new TokenBucket(rate)
    this.#hasOwnRate = identityRate < rate
  }

  /**
   * Takes over what all processes have sent, and forgets what was taken in a transaction that was rolled back.
   *
   * @param state What `state` returned; undefined when nothing was sent yet.
   */
  load({ all, identities }: PaceState = { all: -Infinity, identities: {} }): void {
    this.#all.emptyMs = all
    this.#storedIdentities = identities
    this.#identities.clear()
    for (const [key, emptyMs] of Object.entries(identities)) this.#bucketFor(key).emptyMs = emptyMs
  }

  /** Returns what other processes must know. Full buckets are left out. */
  state(): PaceState {
    if (!this.#hasOwnRate) return { all: this.#all.emptyMs, identities: this.#storedIdentities }
    const nowMs = this.#clock()
    const busy = [...this.#identities].filter(([, bucket]) => !bucket.isFull(nowMs))
    return { all: this.#all.emptyMs, identities: Object.fromEntries(busy.map(([key, { emptyMs }]) => [key, emptyMs])) }
  }

  /** Notes whether a party has something to send. */
  ask(party: Party, hasDue: boolean): void {
    this.#askedMs[party] = hasDue ? this.#clock() : -Infinity
  }

  /** Returns how many confirmation mails may be claimed now. */
  allowConfirmations(due: number): number {
    return Math.min(due, this.#shareOf('confirmations'))
  }

  /** Counts confirmation mails that are claimed. */
  takeConfirmations(count: number): void {
    this.#all.take(count, this.#clock())
  }

  /** Notes which party sent last. Called after the commit, because a transaction may run several times. */
  sent(party: Party): void {
    this.#lastParty = party
  }

  /** Counts the turns that `allow` has given last. Called after the commit, for the same reason. */
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

  /** Counts messages that were claimed. */
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

  /** Returns how many mails of a party may be sent now. Of an odd number, the party that did not send last gets more. */
  #shareOf(party: Party): number {
    const nowMs = this.#clock()
    const available = this.#all.available(nowMs)
    const other = party === 'messages' ? 'confirmations' : 'messages'
    if (Math.abs(nowMs - this.#askedMs[other]) > maxAskIntervalMs) return available
    return this.#lastParty === party ? Math.floor(available / 2) : Math.ceil(available / 2)
  }

  /** Chooses the campaign with the fewest allowed messages whose sender may send another one. */
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
