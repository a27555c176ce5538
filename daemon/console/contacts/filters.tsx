import { useState } from 'preact/hooks'
import { allLists, allSegments, allTags, type Choices, cutNote, type Schemas, topicsOf } from '../api.ts'
import { Filter } from '../parts/filter.tsx'
import { LoadError, useLoad } from '../parts/load.tsx'
import { useQuery } from '../parts/page.tsx'
import type { Paths } from '../paths.ts'
import { SearchField } from './contacts.tsx'

export type Filters = NonNullable<Paths['/api/v1/contacts/count']['get']['parameters']['query']>

/** Returns the filters that the address has. */
export function filtersOf(query: Readonly<Record<string, string>>): Filters {
  // Invalid ids are sent too, so that the server refuses them. Without the filter every contact would match.
  const ids = (name: string) => (query[name] ?? '').split(',').filter(Boolean).map(Number)
  const named = { 'lists[]': ids('list'), 'tags[]': ids('tag'), 'topics[]': ids('topic') }
  return {
    ...Object.fromEntries(Object.entries(named).filter(([, values]) => values.length > 0)),
    ...(query.search && { search: query.search }),
    ...(query.segment && { segment: Number(query.segment) }),
    ...(query.state === 'all' && { include_unsubscribed: true }),
    ...(query.state === 'unsubscribed' && { unsubscribed: 'only' as const }),
  }
}

const states = [
  ['unsubscribed', 'Unsubscribed'],
  ['all', 'All'],
] as const

export function ContactFilters() {
  const [query, change] = useQuery()
  const isFiltered = ['list', 'topic', 'tag', 'segment'].some((name) => query[name] !== undefined)
  const [isOpen, setOpen] = useState(isFiltered)
  return (
    <search class="filters">
      <SearchField value={query.search ?? ''} change={(search) => change({ search })} />
      <Filter name="state" label="State" any="Subscribed" options={states} />
      {!isFiltered && (
        <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          More filters
        </button>
      )}
      {(isOpen || isFiltered) && <GroupFilters />}
    </search>
  )
}

/** Filters by list, topic, tag and segment. */
function GroupFilters() {
  const [query] = useQuery()
  const groups = useLoad(loadGroups, [])
  const topics = useLoad(() => loadTopics(query.list), [query.list])
  if (groups.error !== undefined) return <LoadError of={groups} />
  const { lists, tags, segments } = groups.value ?? {}
  const filters = [
    { name: 'list', title: 'List', any: 'Any list', of: lists },
    { name: 'topic', title: 'Topic', any: 'Any topic', of: topics.value },
    { name: 'tag', title: 'Tag', any: 'Any tag', of: tags },
    { name: 'segment', title: 'Segment', any: 'Any segment', of: segments },
  ].flatMap(({ of, ...filter }) => {
    const chosen = query[filter.name]
    const options = (of ?? []).map(({ id, name }) => [String(id), name] as const)
    // One that has been deleted stays as its id, so that the filter can be taken off.
    const isUnknown = of && chosen !== undefined && options.every(([value]) => value !== chosen)
    if (isUnknown) options.push([chosen, `#${chosen}`])
    return options.length > 0 ? [{ ...filter, options, note: cutNote(of, `${filter.name}s`) }] : []
  })
  if (groups.value && filters.length === 0) return <span class="muted">There is no list, tag or segment yet.</span>
  return (
    <>
      {filters.map(({ name, title, any, options, note }) => (
        <Filter
          key={name}
          name={name}
          label={title}
          any={any}
          options={options}
          note={note}
          {...(name === 'list' && { clears: 'topic' })}
        />
      ))}
      <LoadError of={topics} />
    </>
  )
}

async function loadGroups() {
  const [lists, tags, segments] = await Promise.all([allLists(), allTags(), allSegments()])
  return { lists, tags, segments }
}

/** Topics belong to a list, so they can be chosen after it. */
async function loadTopics(list: string | undefined): Promise<Choices<Schemas['Topic']> | undefined> {
  const listId = Number(list)
  return Number.isSafeInteger(listId) && listId > 0 ? await topicsOf(listId) : undefined
}
