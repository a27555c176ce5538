import type { paths } from '../../client/api.ts'
import { allLists, allSegments, allTags, topicsOf } from '../api.ts'
import { useLoad } from '../parts/load.tsx'
import { useQuery } from '../parts/page.tsx'
import { SearchField } from './contacts.tsx'

export type Filters = NonNullable<paths['/api/v1/contacts/count']['get']['parameters']['query']>

/** Returns the filters that the address has. */
export function filtersOf(query: Readonly<Record<string, string>>): Filters {
  const ids = (name: string) => (query[name] ?? '').split(',').map(Number).filter(Number.isSafeInteger).filter(Boolean)
  const named = { 'lists[]': ids('list'), 'tags[]': ids('tag'), 'topics[]': ids('topic') }
  return {
    ...Object.fromEntries(Object.entries(named).filter(([, values]) => values.length > 0)),
    ...(query.search && { search: query.search }),
    ...(query.segment && { segment: Number(query.segment) }),
    ...(query.state === 'all' && { include_unsubscribed: true }),
    ...(query.state === 'unsubscribed' && { unsubscribed: 'only' as const }),
  }
}

export function ContactFilters() {
  const [query, change] = useQuery()
  const groups = useLoad(loadGroups, [])
  const topics = useLoad(() => loadTopics(query.list), [query.list])
  const { lists = [], tags = [], segments = [] } = groups.value ?? {}
  const filters = [
    { name: 'list', title: 'List', any: 'Any list', of: lists },
    { name: 'topic', title: 'Topic', any: 'Any topic', of: topics.value ?? [] },
    { name: 'tag', title: 'Tag', any: 'Any tag', of: tags },
    { name: 'segment', title: 'Segment', any: 'Any segment', of: segments },
  ].filter(({ of }) => of.length > 0)
  return (
    <search class="filters">
      <SearchField value={query.search ?? ''} change={(search) => change({ search })} />
      {filters.map(({ name, title, any, of }) => (
        <select
          key={name}
          aria-label={title}
          value={query[name] ?? ''}
          onChange={(event) =>
            change({ [name]: event.currentTarget.value, ...(name === 'list' && { topic: undefined }) })
          }
        >
          <option value="">{any}</option>
          {of.map((one) => (
            <option key={one.id} value={String(one.id)}>
              {one.name}
            </option>
          ))}
        </select>
      ))}
      <select
        aria-label="State"
        value={query.state ?? ''}
        onChange={(event) => change({ state: event.currentTarget.value })}
      >
        <option value="">Subscribed</option>
        <option value="unsubscribed">Unsubscribed</option>
        <option value="all">All</option>
      </select>
    </search>
  )
}

async function loadGroups() {
  const [lists, tags, segments] = await Promise.all([allLists(), allTags(), allSegments()])
  return { lists, tags, segments }
}

/** Topics belong to a list, so they can be chosen after it. */
async function loadTopics(list: string | undefined) {
  const listId = Number(list)
  return Number.isSafeInteger(listId) && listId > 0 ? await topicsOf(listId) : []
}
