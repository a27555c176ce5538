/** Tracks which records a client has, by its answers, to know whether the records of a path exist. */
import type { Tenant } from './service.ts'

export class Records {
  readonly #ids = new Map<string, number[]>()
  /** The list of a topic, and the endpoint of a delivery or recovery. */
  readonly #owners = new Map<string, number>()

  constructor({ ids }: Tenant) {
    for (const [name, known] of Object.entries(ids)) this.#ids.set(name, [...known])
    for (const id of ids.topicId!) this.#owners.set(`topicId ${id}`, ids.listId![0]!)
    for (const name of ['deliveryId', 'recoveryId']) {
      for (const id of ids[name]!) this.#owners.set(`${name} ${id}`, ids.endpointId![0]!)
    }
  }

  /** Returns the id of an existing record, or 1 without one, which is another client's id or unused. */
  pick(name: string, index: number): number {
    const ids = this.#ids.get(name) ?? []
    return ids[index % ids.length] ?? 1
  }

  /** Whether all records that a path names exist. */
  has(params: Readonly<Record<string, number>>): boolean {
    return Object.entries(params).every(([name, id]) => {
      if (!this.#ids.get(name)?.includes(id)) return false
      const owner = this.#owners.get(`${name} ${id}`)
      return params.endpointId === undefined || owner === undefined || owner === params.endpointId
    })
  }

  /** Records what an answer created or deleted. */
  learn(title: string, params: Readonly<Record<string, number>>, data: Answered | undefined): void {
    const deleted = /^DELETE \/[\w-]+\/:(\w+)$/.exec(title)?.[1]
    if (deleted !== undefined) this.#remove(deleted, params[deleted]!)
    const made = makers[title]
    if (made !== undefined && data !== undefined) this.#add(made, data.id, params)
    for (const { id } of data?.tags ?? []) this.#add('tagId', id, {})
  }

  #add(name: string, id: number, { listId, endpointId }: Readonly<Record<string, number>>): void {
    const ids = this.#ids.get(name)!
    if (!ids.includes(id)) ids.push(id)
    const owner = name === 'topicId' ? listId : endpointId
    if (owner !== undefined) this.#owners.set(`${name} ${id}`, owner)
  }

  #remove(name: string, id: number): void {
    this.#ids.set(
      name,
      this.#ids.get(name)!.filter((other) => other !== id),
    )
    for (const [key, owner] of this.#owners) {
      const [kind = '', owned] = key.split(' ')
      const ownedBy = kind === 'topicId' ? 'listId' : 'endpointId'
      if (ownedBy === name && owner === id) this.#remove(kind, Number(owned))
    }
  }
}

interface Answered {
  readonly id: number
  readonly tags?: readonly { readonly id: number }[]
}

const makers: Readonly<Record<string, string>> = {
  'POST /tags': 'tagId',
  'POST /lists': 'listId',
  'POST /lists/:listId/topics': 'topicId',
  'POST /lists/:listId/contacts': 'contactId',
  'POST /segments': 'segmentId',
  'POST /newsletters': 'newsletterId',
  'POST /sequences': 'sequenceId',
  'POST /email-identities': 'emailIdentityId',
  'POST /suppressions': 'suppressionId',
  'POST /webhook-endpoints': 'endpointId',
  'POST /webhook-endpoints/:endpointId/test': 'deliveryId',
  'POST /webhook-endpoints/:endpointId/recover': 'recoveryId',
}
