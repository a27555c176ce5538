import { allOf, answerOf, api, type Schemas } from '../api.ts'
import { useLoad } from '../parts/load.tsx'

type Audience = Schemas['Newsletter']['audience']

/** Chooses who gets a newsletter: on any of the lists, and with any of the tags. */
export function AudienceFields({ audience }: { audience: Audience }) {
  const groups = useLoad(async () => {
    const page = (cursor: string | undefined) => ({ params: { query: { per_page: 100, ...(cursor && { cursor }) } } })
    const [lists, tags] = await Promise.all([
      allOf((cursor) => answerOf(api.GET('/api/v1/lists', page(cursor)))),
      allOf((cursor) => answerOf(api.GET('/api/v1/tags', page(cursor)))),
    ])
    return { lists, tags }
  }, [])
  if (!groups.value) return null
  return (
    <>
      <Checks title="On any of these lists" name="lists" of={groups.value.lists} chosen={audience.lists ?? []} />
      <Checks title="With any of these tags" name="tags" of={groups.value.tags} chosen={audience.tags ?? []} />
    </>
  )
}

interface ChecksProps {
  readonly title: string
  readonly name: string
  readonly of: readonly { readonly id: number; readonly name: string }[]
  readonly chosen: readonly number[]
}

function Checks({ title, name, of, chosen }: ChecksProps) {
  if (of.length === 0) return null
  return (
    <fieldset class="events">
      <legend>{title}</legend>
      {of.map((one) => (
        <label key={one.id} class="check">
          <input type="checkbox" name={name} value={String(one.id)} defaultChecked={chosen.includes(one.id)} />{' '}
          {one.name}
        </label>
      ))}
    </fieldset>
  )
}

/** Returns the audience with the form's filters. An empty filter would match no contact. */
export function audienceOf({ lists: _lists, tags: _tags, ...others }: Audience, fields: FormData): Audience {
  const [lists, tags] = ['lists', 'tags'].map((name) => fields.getAll(name).map(Number)) as [number[], number[]]
  return { ...others, ...(lists.length > 0 && { lists }), ...(tags.length > 0 && { tags }) }
}
