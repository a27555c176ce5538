import { useEffect, useState } from 'preact/hooks'
import { authorized, errorOf } from '../api.ts'
import { Empty, Loaded, useLoad } from '../parts/load.tsx'
import { Page } from '../parts/page.tsx'
import { Described, type Description, type Entry, eventsOf, groupsOf } from './description.ts'
import { OperationDoc } from './operation.tsx'
import { Prose } from './schema.tsx'

/** The API's own description as a page. */
export function Docs() {
  const description = useLoad(loadDescription, [])
  return (
    <Page
      title="API documentation"
      actions={
        <a class="button" href="/api/v1/openapi.json" target="_blank" rel="noreferrer">
          openapi.json
        </a>
      }
    >
      <Loaded of={description}>{(loaded) => <Contents description={loaded} />}</Loaded>
    </Page>
  )
}

async function loadDescription(): Promise<Description> {
  const response = await authorized(new Request('/api/v1/openapi.json'))
  if (!response.ok) throw errorOf(response, await response.json().catch(() => undefined))
  return await response.json() // throws if the connection breaks on the way
}

function Contents({ description }: { description: Description }) {
  const [words, setWords] = useState('')
  const groups = groupsOf(description)
    .map((group) => ({ ...group, entries: group.entries.filter((entry) => matches(entry, words)) }))
    .filter(({ entries }) => entries.length > 0)
  const events = eventsOf(description).filter((entry) => matches(entry, words))
  useEffect(() => {
    const wanted = document.getElementById(location.hash.slice(1))
    wanted?.scrollIntoView()
  }, [])
  return (
    <Described.Provider value={description}>
      <p class="prose">
        <Prose text={description.info.description} />
      </p>
      <search class="filters">
        <input
          type="search"
          data-search
          aria-label="Search operations and events"
          placeholder="Search operations and events"
          value={words}
          onInput={(event) => setWords(event.currentTarget.value)}
        />
      </search>
      {groups.map(({ name, about, entries }) => (
        <Group key={name} name={name} about={about} entries={entries} />
      ))}
      {events.length > 0 && (
        <Group name="Events" about="Requests that endpoints receive, signed." entries={events} isEvent />
      )}
      {groups.length + events.length === 0 && <Empty title="Nothing matches." />}
    </Described.Provider>
  )
}

interface GroupProps {
  readonly name: string
  readonly about: string | undefined
  readonly entries: readonly Entry[]
  readonly isEvent?: boolean
}

function Group({ name, about, entries, isEvent = false }: GroupProps) {
  return (
    <section class="group">
      <h2>{name}</h2>
      {about && (
        <p class="muted">
          <Prose text={about} />
        </p>
      )}
      {entries.map((entry) => (
        <OperationDoc key={entry.id} entry={entry} isEvent={isEvent} />
      ))}
    </section>
  )
}

function matches({ method, path, operation }: Entry, words: string): boolean {
  const text = `${method} ${path} ${operation.operationId} ${operation.summary}`.toLowerCase()
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word))
}
