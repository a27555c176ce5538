import { useState } from 'preact/hooks'
import type { Schemas } from '../api.ts'
import { allLists, allSegments, allTags, cutNote, topicsOf } from '../api.ts'
import { Choice, textOf } from '../parts/form.tsx'
import { LoadError, useLoad } from '../parts/load.tsx'

type Audience = Schemas['Newsletter']['audience']
type Filters = Omit<Audience, 'segment'>
type FilterName = keyof Filters

/** Field of a form that shows an audience. */
const audienceMark = 'has_audience'

/** Field of a form that shows all filters. */
const shownMark = 'has_all_filters'

/** Topics are offered of at most this many lists, because each is a request. */
const maxListsOfTopics = 20

/** Chooses contacts: any value of each filter, and every filter. */
export function FilterFields({ filters }: { filters: Filters }) {
  const groups = useLoad(async () => {
    const [lists, tags] = await Promise.all([allLists(), allTags()])
    return { lists, tags }
  }, [])
  const [chosenLists, setChosenLists] = useState(filters.lists ?? [])
  const hasMore = [filters.topics, filters.exclude_lists, filters.exclude_tags].some((ids) => ids && ids.length > 0)
  const [isShown, setShown] = useState(hasMore)
  const { lists = [], tags = [] } = groups.value ?? {}
  const moreLists = cutNote(groups.value?.lists, 'lists')
  const moreTags = cutNote(groups.value?.tags, 'tags')
  return (
    <>
      <LoadError of={groups} />
      <Checks
        title="On any of these lists"
        name="lists"
        of={lists}
        note={moreLists}
        filters={filters}
        change={setChosenLists}
      />
      <Checks title="With any of these tags" name="tags" of={tags} note={moreTags} filters={filters} />
      <details open={hasMore} onToggle={(event) => (event.currentTarget as HTMLDetailsElement).open && setShown(true)}>
        <summary>Topics, and who is left out</summary>
        {isShown && (
          <div class="more">
            <input type="hidden" name={shownMark} value="yes" />
            <Topics lists={lists} chosenLists={chosenLists} filters={filters} />
            <Checks title="On none of these lists" name="exclude_lists" of={lists} note={moreLists} filters={filters} />
            <Checks title="With none of these tags" name="exclude_tags" of={tags} note={moreTags} filters={filters} />
          </div>
        )}
      </details>
    </>
  )
}

interface TopicsProps {
  readonly lists: readonly Schemas['CountedList'][]
  readonly chosenLists: readonly number[]
  readonly filters: Filters
}

/** The topics of the chosen lists, or of all lists if none is chosen. */
function Topics({ lists, chosenLists, filters }: TopicsProps) {
  const chosen = lists.filter(({ id }) => chosenLists.length === 0 || chosenLists.includes(id))
  const shown = chosen.slice(0, maxListsOfTopics)
  const more = chosenLists.length === 0 ? 'lists. Choose a list to see its topics.' : 'chosen lists.'
  const cutLists = chosen.length > shown.length ? [`The topics of the first ${maxListsOfTopics} ${more}`] : []
  const offered = useLoad(async () => {
    const all = await Promise.all(shown.map(({ id }) => topicsOf(id)))
    return {
      topics: all.flatMap((some, at) => some.map(({ id, name }) => ({ id, name: `${name} (${shown[at]!.name})` }))),
      cut: all.flatMap((some, at) => (some.isCut ? [`${cutNote(some, 'topics')} of ${shown[at]!.name}.`] : [])),
    }
  }, [shown.map(({ id }) => id).join()])
  const notes = [...cutLists, ...(offered.value?.cut ?? [])]
  return (
    <>
      <LoadError of={offered} />
      <Checks
        title="Subscribed to any of these topics"
        name="topics"
        of={offered.value?.topics ?? []}
        note={notes.length > 0 ? notes.join(' ') : undefined}
        filters={filters}
      />
    </>
  )
}

interface ChecksProps {
  readonly title: string
  readonly name: FilterName
  readonly of: readonly { readonly id: number; readonly name: string }[]
  readonly filters: Filters
  /** What is not offered. */
  readonly note?: string | undefined
  readonly change?: (chosen: number[]) => void
}

/** Chosen values are first. They stay even if they are not among the offered ones. */
function Checks({ title, name, of, filters: { [name]: chosen = [] }, note, change }: ChecksProps) {
  const others = chosen.filter((id) => of.every((one) => one.id !== id)).map((id) => ({ id, name: `#${id}` }))
  const [first] = useState(chosen) // a value does not move when it is chosen
  const all = [...of, ...others].toSorted((a, b) => Number(first.includes(b.id)) - Number(first.includes(a.id)))
  if (all.length === 0 && note === undefined) return null
  return (
    <fieldset
      class="events choices"
      onChange={({ currentTarget }) => {
        const checked = currentTarget.querySelectorAll<HTMLInputElement>('input:checked')
        change?.([...checked].map(({ value }) => Number(value)))
      }}
    >
      <legend>{title}</legend>
      {note && <p class="muted">{note}</p>}
      {all.map((one) => (
        <label key={one.id} class="check">
          <input type="checkbox" name={name} value={String(one.id)} defaultChecked={chosen.includes(one.id)} />{' '}
          <span class="cut" title={one.name}>
            {one.name}
          </span>
        </label>
      ))}
    </fieldset>
  )
}

const filterNames: readonly FilterName[] = ['lists', 'tags', 'topics', 'exclude_lists', 'exclude_tags']

/**
 * Returns the filters of a form. An empty filter would match no contact.
 *
 * @param before The filters that the form began with: those that it does not show stay.
 */
export function filtersIn(fields: FormData, before: Filters): Filters {
  const hidden: readonly FilterName[] = fields.has(shownMark) ? [] : ['topics', 'exclude_lists', 'exclude_tags']
  const entries = filterNames.map((name) => {
    return [name, hidden.includes(name) ? (before[name] ?? []) : fields.getAll(name).map(Number)] as const
  })
  return Object.fromEntries(entries.filter(([, ids]) => ids.length > 0))
}

/** Chooses who gets a newsletter. */
export function AudienceFields({ audience: { segment, ...filters } }: { audience: Audience }) {
  const segments = useLoad(allSegments, [])
  const known = segments.value ?? []
  return (
    <>
      <p class="muted">Without a choice, every subscribed contact gets it.</p>
      <input type="hidden" name={audienceMark} value="yes" />
      <FilterFields filters={filters} />
      <LoadError of={segments} />
      {(known.length > 0 || segment !== undefined) && (
        <Choice
          label="In the segment"
          name="segment"
          selected={String(segment ?? '')}
          note={cutNote(segments.value, 'segments')}
          options={[['', 'Any'], ...known.map(({ id, name }) => [String(id), name] as const)]}
        />
      )}
    </>
  )
}

/** Reads the fields of `AudienceFields`. Without them, the audience stays. */
export function audienceIn(fields: FormData, before: Audience): Audience {
  if (!fields.has(audienceMark)) return before
  const { segment: _, ...filters } = before
  const segment = textOf(fields, 'segment')
  return { ...filtersIn(fields, filters), ...(segment !== '' && { segment: Number(segment) }) }
}

/** Returns an audience in words: `2 lists, 1 tag`. */
export function summaryOf({ segment, ...filters }: Audience): string {
  const parts = filterNames.flatMap((name) => {
    const count = filters[name]?.length ?? 0
    const [noun = '', isExcluded] = name.split('_').reverse()
    return count === 0 ? [] : [`${isExcluded ? 'without ' : ''}${count} ${count === 1 ? noun.slice(0, -1) : noun}`]
  })
  if (segment !== undefined) parts.push('1 segment')
  return parts.join(', ') || 'every subscribed contact'
}
