/** Applies the same steps to the library and to the model, and compares after every step. */
import assert from 'node:assert/strict'
import {
  type BulkResult,
  type ClientMailkeep,
  type Contact,
  isMailkeepError,
  type Tag,
  unchecked,
} from '../../lib/index.ts'
import { audit, withSorted } from './audit.ts'
import { folded, type Known, Model } from './model.ts'
import type { Newcomer, Place, Profile, Step } from './steps.ts'
import { Walks } from './walks.ts'

/** Records of another client, which this client must not see. */
export type Foreign = Readonly<Record<'tag' | 'list' | 'topic' | 'contact', number>>

type Kind = keyof Foreign

const kinds = { tags: 'tag', lists: 'list', topics: 'topic', contacts: 'contact' } as const

export class Life {
  readonly model = new Model()
  readonly #client: ClientMailkeep
  readonly #endpointId: number
  /** Ids of every record that ever existed, and one of another client. */
  readonly #ever: Record<Kind, number[]>
  readonly #walks: Walks

  constructor(client: ClientMailkeep, endpointId: number, foreign: Foreign) {
    this.#client = client
    this.#endpointId = endpointId
    this.#ever = { tag: [foreign.tag], list: [foreign.list], topic: [foreign.topic], contact: [foreign.contact] }
    this.#walks = new Walks(client, this.model, endpointId, (kind, place) => this.#pick(kind, place))
  }

  /** @throws AssertionError when library and model differ. */
  async do(step: Step): Promise<void> {
    const { model } = this
    switch (step.do) {
      case 'make':
        return step.kind === 'tag' ? await this.#makeTag(step.name) : await this.#makeList(step.name)
      case 'rename':
        return await this.#rename(step.kind, this.#pick(step.kind, step.at), step.name)
      case 'delete':
        return await this.#delete(step.kind, this.#pick(step.kind, step.at))
      case 'make topic': {
        const listId = this.#pick('list', step.list)
        const { name, description } = step
        const topic = await this.#expect(model.lists.has(listId), () =>
          this.#client.topics.create(listId, { name, description }),
        )
        if (!topic) return
        assert.deepEqual([topic.list_id, topic.name, topic.description], [listId, name, description])
        model.topics.set(this.#new('topic', topic.id), topic)
        return
      }
      case 'change topic': {
        const known = model.topics.get(this.#pick('topic', step.at))
        const id = this.#pick('topic', step.at)
        const topic = await this.#expect(known, () => this.#client.topics.update(id, { name: step.name }))
        if (!topic) return
        assert.deepEqual(topic, { ...known, name: step.name })
        model.topics.set(id, topic)
        return
      }
      case 'add':
        return await this.#add(step)
      case 'add many':
        return await this.#addMany(step)
      case 'update': {
        const id = this.#pick('contact', step.at)
        const known = model.contacts.get(id)
        const contact = await this.#expect(known, () => this.#client.contacts.update(id, inputOf(step)))
        if (!contact) return
        if (step.tags) known!.tags.clear()
        this.#take(known!, step, contact)
        return this.#same(contact, known!)
      }
      case 'unsubscribe': {
        const { byContact } = step
        return await this.#change(
          step.at,
          (id) => this.#client.contacts.unsubscribe(id, { byContact }),
          (known, contact) => {
            if (known.unsubscribed_at !== null) return
            assert.ok(contact.unsubscribed_at !== null, 'not unsubscribed')
            known.unsubscribed_at = contact.unsubscribed_at
            known.unsubscribed_by_contact = byContact
            model.raise('contact.unsubscribed', known)
          },
        )
      }
      case 'resubscribe':
        return await this.#change(
          step.at,
          (id) => this.#client.contacts.resubscribe(id),
          (known) => {
            if (known.unsubscribed_at === null) return
            known.unsubscribed_at = null
            known.unsubscribed_by_contact = false
            model.raise('contact.resubscribed', known)
          },
        )
      case 'leave': {
        const listId = this.#pick('list', step.list)
        const leave = (id: number) => this.#client.contacts.removeFromList(listId, id)
        return await this.#change(step.at, leave, (known) => model.leaveList(known, listId), model.lists.has(listId))
      }
      case 'follow':
      case 'unfollow':
        return await this.#follow(step.at, step.topic, step.do === 'follow')
      case 'raise': {
        await this.#client.events.raise({ type: 'newsletter.sent', data: step.data })
        model.events.push({ type: 'newsletter.sent', data: step.data })
        return
      }
      case 'walk':
        return await this.#walks.begin(step)
      case 'turn':
        return await this.#walks.turn(step.walk, step.back)
      case 'cut':
        return await this.#cut(step)
      case 'err': {
        const listId = this.#pick('list', step.at)
        const code = 'validation_failed'
        await assert.rejects(this.#client.contacts.addToList(listId, step.input as never), { code })
      }
    }
  }

  /** @throws AssertionError when any data differs from the model. */
  audit(): Promise<void> {
    return audit(this.#client, this.model, this.#endpointId)
  }

  async #makeTag(name: string): Promise<void> {
    const { model } = this
    if (model.tagNamed(name.trim())) {
      await assert.rejects(this.#client.tags.create({ name }), { code: 'validation_failed' })
      return
    }
    this.#learnTag(await this.#client.tags.create({ name }), name)
  }

  async #makeList(name: string): Promise<void> {
    const list = await this.#client.lists.create({ name })
    assert.equal(list.name, name)
    this.model.lists.set(this.#new('list', list.id), list)
  }

  async #rename(kind: 'tag' | 'list', id: number, name: string): Promise<void> {
    const { model } = this
    const records: Map<number, Tag> = kind === 'tag' ? model.tags : model.lists
    const known = records.get(id)
    const taken = kind === 'tag' && known ? model.tagNamed(name.trim()) : undefined
    const rename = () => this.#client[kind === 'tag' ? 'tags' : 'lists'].update(id, { name })
    if (taken && taken.id !== id) {
      await assert.rejects(rename(), { code: 'validation_failed' })
      return
    }
    const renamed = await this.#expect(known, rename)
    if (!renamed) return
    assert.deepEqual(renamed, { ...known, name: name.trim().normalize('NFC') })
    records.set(id, renamed)
  }

  async #delete(kind: Kind, id: number): Promise<void> {
    const { model } = this
    const doors = {
      tag: this.#client.tags,
      list: this.#client.lists,
      topic: this.#client.topics,
      contact: this.#client.contacts,
    }
    const known = model[`${kind}s`].has(id)
    await this.#expect(known, () => doors[kind].delete(id))
    if (kind === 'tag') model.deleteTag(id)
    else if (kind === 'list') model.deleteList(id)
    else if (kind === 'topic') model.deleteTopic(id)
    else model.contacts.delete(id)
  }

  async #add(step: Extract<Step, { do: 'add' }>): Promise<void> {
    const { model } = this
    const listId = this.#pick('list', step.list)
    const list = model.lists.get(listId)
    const input = { ...inputOf(step), email: step.email }
    const added = await this.#expect(list, () => this.#client.contacts.addToList(listId, input))
    if (!added) return
    const { contact, created } = added
    const before = model.contactOf(step.email)
    assert.equal(created, before === undefined)
    const known = before ?? this.#learnContact(contact, step.email)
    this.#take(known, step, contact)
    const joins = !known.lists.has(listId)
    known.lists.add(listId)
    this.#same(contact, known)
    if (joins && known.unsubscribed_at === null) model.raise('contact.subscribed', known, { list })
  }

  async #addMany({ list: place, people }: Extract<Step, { do: 'add many' }>): Promise<void> {
    const { model } = this
    const listId = this.#pick('list', place)
    const list = model.lists.get(listId)
    const inputs = people.map((one) => ('wrong' in one ? one.wrong : { ...inputOf(one), email: one.email }))
    const { contacts } = unchecked(this.#client)
    const results = await this.#expect(list, () => contacts.addManyToList(listId, inputs))
    if (!results) return
    assert.equal(results.length, people.length)
    const saved: { person: Newcomer; result: BulkResult }[] = []
    for (const [at, result] of results.entries()) {
      const person = people[at]!
      if ('wrong' in person) assert.ok(isMailkeepError(result.refused, 'validation_failed'))
      else saved.push({ person, result })
    }
    const joined: Known[] = []
    for (const { person, result } of groupedByEmail(saved)) {
      assert.ok(!result.refused, result.refused?.message)
      const contact = await this.#client.contacts.get(result.id)
      const before = model.contactOf(person.email)
      assert.equal(result.created, before === undefined)
      const known = before ?? this.#learnContact(contact, person.email)
      this.#take(known, person, contact)
      const joins = !known.lists.has(listId)
      known.lists.add(listId)
      if (joins && known.unsubscribed_at === null) joined.push(known)
    }
    // A contact that is named several times joins once, and its event shows it as the call leaves it.
    for (const known of joined) model.raise('contact.subscribed', known, { list })
    for (const { result } of saved) {
      assert.ok(!result.refused)
      this.#same(await this.#client.contacts.get(result.id), model.contacts.get(result.id)!)
    }
  }

  async #cut({ walk, back, all }: Extract<Step, { do: 'cut' }>): Promise<void> {
    const ahead = await this.#walks.ahead(walk, back)
    if (!ahead || ahead.of === 'deliveries') return
    const kind = kinds[ahead.of]
    for (const id of ahead.ids.slice(0, all ? undefined : 1)) await this.#delete(kind, id)
  }

  async #follow(at: Place, place: Place, follows: boolean): Promise<void> {
    const id = this.#pick('contact', at)
    const known = this.model.contacts.get(id)
    const topicId = this.#pickTopic(known, place)
    const topic = this.model.topics.get(topicId)
    const { contacts } = this.#client
    if (follows && known && topic && !known.lists.has(topic.list_id)) {
      await assert.rejects(contacts.subscribeToTopic(id, topicId), { code: 'validation_failed' })
      return
    }
    const ask = () => (follows ? contacts.subscribeToTopic(id, topicId) : contacts.unsubscribeFromTopic(id, topicId))
    const contact = await this.#expect(known && topic, ask)
    if (!contact) return
    if (follows) known!.topics.add(topicId)
    else known!.topics.delete(topicId)
    this.#same(contact, known!)
  }

  async #change(
    at: Place,
    ask: (id: number) => Promise<Contact>,
    apply: (known: Known, contact: Contact) => void,
    possible = true,
  ): Promise<void> {
    const id = this.#pick('contact', at)
    const known = this.model.contacts.get(id)
    const contact = await this.#expect(known && possible, () => ask(id))
    if (!contact) return
    apply(known!, contact)
    this.#same(contact, known!)
  }

  /** Expects success where the model allows the step, else `not_found`. */
  async #expect<T>(possible: unknown, ask: () => Promise<T>): Promise<T | undefined> {
    if (possible) return await ask()
    await assert.rejects(ask(), (error) => isMailkeepError(error, 'not_found'))
    return undefined
  }

  /** Applies a step's name, tags and attributes to the model's contact. */
  #take(known: Known, { name, tags, attributes }: Profile, contact: Contact): void {
    if (name !== undefined) known.name = name
    this.model.merge(known, attributes)
    for (const tagName of tags ?? []) {
      const tag = this.model.tagNamed(tagName.trim()) ?? this.#tagIn(contact, tagName)
      known.tags.add(tag.id)
    }
  }

  #tagIn({ tags }: Contact, name: string): Tag {
    const tag = tags.find((candidate) => folded(candidate.name) === folded(name.trim()))
    assert.ok(tag, `it has no tag ${JSON.stringify(name)}`)
    return this.#learnTag(tag, name)
  }

  #learnTag(tag: Tag, name: string): Tag {
    assert.equal(tag.name, name.trim().normalize('NFC'))
    this.model.tags.set(this.#new('tag', tag.id), tag)
    return tag
  }

  #learnContact({ id, uuid, created_at, unsubscribed_at, unsubscribed_by_contact }: Contact, email: string): Known {
    assert.deepEqual([unsubscribed_at, unsubscribed_by_contact], [null, false])
    const none = { tags: new Set<number>(), lists: new Set<number>(), topics: new Set<number>() }
    const fields = { name: '', email, extra_attributes: {}, unsubscribed_at: null, unsubscribed_by_contact: false }
    const known: Known = { id: this.#new('contact', id), uuid, created_at, ...fields, ...none }
    this.model.contacts.set(id, known)
    return known
  }

  #same(contact: Contact, known: Known): void {
    assert.deepEqual(withSorted(contact), this.model.shown(known))
  }

  #new(kind: Kind, id: number): number {
    assert.ok(!this.#ever[kind].includes(id), `the id ${id} of a ${kind} was used before`)
    this.#ever[kind].push(id)
    return id
  }

  /** Usually an existing record; sometimes any that ever existed. */
  #pick(kind: Kind, place: Place): number {
    const live = [...this.model[`${kind}s`].keys()]
    const among = place < 8 && live.length > 0 ? live : this.#ever[kind]
    return among[place % among.length]!
  }

  /** Usually a topic of a list that the contact is on. */
  #pickTopic(contact: Known | undefined, place: Place): number {
    const near = [...this.model.topics.values()].filter(({ list_id }) => contact?.lists.has(list_id))
    return place < 6 && near.length > 0 ? near[place % near.length]!.id : this.#pick('topic', place)
  }
}

/** Groups people by e-mail address, in the order of their first entries: a batch saves all entries of a contact at once. */
function groupedByEmail<T extends { person: Newcomer }>(saved: readonly T[]): T[] {
  const groups = new Map<string, T[]>()
  for (const one of saved) {
    const key = folded(one.person.email)
    groups.set(key, [...(groups.get(key) ?? []), one])
  }
  return [...groups.values()].flat()
}

function inputOf({ name, tags, attributes }: Profile) {
  return { ...attributes, ...(name === undefined ? {} : { name }), ...(tags === undefined ? {} : { tags }) }
}
