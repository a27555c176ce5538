/**
 * A model of the library with a few maps: no database, no pages, no transactions. Its results are the expected ones.
 */
import type { Contact, List, Tag, Topic } from '../../lib/index.ts'

/** A contact with the ids of the records it belongs to. */
export interface Known extends Omit<Contact, 'tags' | 'lists' | 'topics'> {
  readonly tags: Set<number>
  readonly lists: Set<number>
  readonly topics: Set<number>
}

export interface Raised {
  readonly type: string
  readonly data: object
  /** The contact whose data the event contains. */
  readonly contactId?: number
}

export interface Filters {
  readonly lists?: readonly number[]
  readonly tags?: readonly number[]
  readonly topics?: readonly number[]
  readonly search?: string
  readonly include_unsubscribed?: boolean
}

/** Normalises text as the contract requires: NFC, then simple lower case, character by character. */
export function folded(text: string): string {
  const characters = [...text.normalize('NFC')]
  return characters.map((character) => (character === 'İ' ? 'i' : character.toLowerCase())).join('')
}

export class Model {
  readonly tags = new Map<number, Tag>()
  readonly lists = new Map<number, List>()
  readonly topics = new Map<number, Topic>()
  readonly contacts = new Map<number, Known>()
  /** All events so far, the oldest first. */
  readonly events: Raised[] = []

  tagNamed(name: string): Tag | undefined {
    return [...this.tags.values()].find((tag) => folded(tag.name) === folded(name))
  }

  contactOf(email: string): Known | undefined {
    return [...this.contacts.values()].find((contact) => folded(contact.email) === folded(email))
  }

  deleteTag(id: number): void {
    this.tags.delete(id)
    for (const { tags } of this.contacts.values()) tags.delete(id)
  }

  deleteTopic(id: number): void {
    this.topics.delete(id)
    for (const { topics } of this.contacts.values()) topics.delete(id)
  }

  deleteList(id: number): void {
    this.lists.delete(id)
    for (const topic of [...this.topics.values()].filter(({ list_id }) => list_id === id)) this.deleteTopic(topic.id)
    for (const { lists } of this.contacts.values()) lists.delete(id)
  }

  leaveList(contact: Known, listId: number): void {
    contact.lists.delete(listId)
    for (const id of [...contact.topics]) if (this.topics.get(id)?.list_id === listId) contact.topics.delete(id)
  }

  /** Merges attributes by key; null deletes one. */
  merge(contact: Known, changes: Readonly<Record<string, string | null>>): void {
    const merged = new Map(Object.entries(contact.extra_attributes))
    for (const [name, value] of Object.entries(changes)) {
      if (value === null) merged.delete(name)
      else merged.set(name, value)
    }
    contact.extra_attributes = Object.fromEntries(merged)
  }

  /** Returns the contact as the library shows it. */
  shown({ tags, lists, topics, ...fields }: Known): Contact {
    return {
      ...fields,
      tags: these(this.tags, tags),
      lists: these(this.lists, lists),
      topics: these(this.topics, topics),
    }
  }

  raise(type: string, contact: Known, more: object = {}): void {
    this.events.push({ type, contactId: contact.id, data: structuredClone({ contact: this.shown(contact), ...more }) })
  }

  /** Returns the ids of the contacts that a listing shows, in its order. */
  matching({ lists, tags, topics, search, include_unsubscribed = false }: Filters): number[] {
    const any = (wanted: readonly number[] | undefined, has: Set<number>) => !wanted || wanted.some((id) => has.has(id))
    const term = folded(search ?? '')
    return [...this.contacts.values()]
      .filter((contact) => include_unsubscribed || contact.unsubscribed_at === null)
      .filter((contact) => any(lists, contact.lists) && any(tags, contact.tags) && any(topics, contact.topics))
      .filter(({ name, email }) => folded(name).includes(term) || folded(email).includes(term))
      .map(({ id }) => id)
      .sort(ascending)
  }
}

export const ascending = (a: number, b: number) => a - b

function these<T>(all: ReadonlyMap<number, T>, ids: ReadonlySet<number>): T[] {
  return [...ids].sort(ascending).map((id) => all.get(id)!)
}
