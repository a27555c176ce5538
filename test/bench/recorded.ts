/** Records the statements of one save as the library sends them, so that bare `pg` can replay them. */
import pg from 'pg'
import { clientId, tagName } from './population.ts'
import { withLibraryOn } from './postgres-place.ts'

/** A value that differs on each replay. */
export type Part = { readonly email: string } | { readonly idOf: 'contact' | 'event' }

export interface Step {
  readonly text: string
  readonly name?: string
  readonly values: readonly unknown[]
  /** The changing values, by position. */
  readonly parts: Readonly<Record<number, Part>>
  /** The record whose id is in the first row of the result. */
  readonly gives?: 'contact' | 'event'
}

export interface Script {
  readonly url: string
  readonly steps: readonly Step[]
  /** Placeholder in texts for the e-mail address of the replay. */
  readonly email: string
}

interface Asked {
  readonly query: { readonly text: string; readonly name?: string; readonly values?: unknown[] }
  readonly result: Promise<{ rows: { id?: unknown }[] }>
}

/** Saves a new contact with two tags on a list, which raises an event for one endpoint, like `save-light`. */
export async function recordSave(url: string): Promise<Script> {
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  let asked: Asked[] = []
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown
    client.query = ((...args: unknown[]) => {
      const result = query(...args)
      asked.push({ query: args[0], result } as Asked)
      return result
    }) as typeof client.query
  })
  const email = 'recorded.0@subscribers.example.org'
  try {
    await withLibraryOn(pool, async (mailkeep) => {
      const { contacts } = mailkeep.forClient(clientId)
      const person = { name: 'Someone New 7', tags: [tagName(1), tagName(2)], city: 'Lisbon', plan: 'basic' }
      await contacts.addToList(1, { ...person, email: 'before@subscribers.example.org' })
      asked = []
      await contacts.addToList(1, { ...person, email })
    })
    return { url, steps: await stepsOf(asked, email), email }
  } finally {
    await pool.end()
  }
}

async function stepsOf(asked: readonly Asked[], email: string): Promise<Step[]> {
  const ids = new Map<unknown, 'contact' | 'event'>()
  const steps: Step[] = []
  for (const { query, result } of asked) {
    const { text, name, values = [] } = query
    const gives = /^insert into "mailkeep_(contact|event)" /.exec(text)?.[1] as Step['gives']
    const parts: Record<number, Part> = {}
    for (const [at, value] of values.entries()) {
      const idOf = ids.get(value)
      if (typeof value === 'string' && value.includes(email)) parts[at] = { email: value }
      // Event ids are small numbers, so the same number may mean something else in other statements.
      else if (idOf === 'contact' || (idOf === 'event' && text.includes('mailkeep_delivery'))) parts[at] = { idOf }
    }
    steps.push({ text, values, parts, ...(name ? { name } : {}), ...(gives ? { gives } : {}) })
    if (gives) ids.set((await result).rows[0]!.id, gives)
  }
  return steps
}
