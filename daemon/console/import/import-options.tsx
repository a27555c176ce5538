import { useEffect, useState } from 'preact/hooks'
import { allLists, api, cutNote, dataOf } from '../api.ts'
import { Choice, Field, Form, textOf } from '../parts/form.tsx'
import { Loaded, useLoad } from '../parts/load.tsx'
import { useQuery } from '../parts/page.tsx'
import { previewOf } from './file.ts'
import { dropDryRun, running, startImport } from './running.ts'

const modes: readonly (readonly [string, string])[] = [
  ['merge', 'add tags and attributes'],
  ['skip', 'stay as they are'],
  ['replace_tags', 'get the tags of the file and lose others'],
]

const newList = 'new'

/** Where the contacts of the file go, and what becomes of those that exist. */
export function ImportOptions({ file }: { file: File }) {
  const [query, change] = useQuery()
  const preview = useLoad(() => previewOf(file), [file])
  const [before] = useState(() => fieldsBefore(file, query.list))
  const given = (name: string) => before?.get(name)?.toString()
  const lists = useLoad(allLists, [query.list, running.value?.listId]) // an import may have created one
  useEffect(() => {
    if (!before) dropDryRun()
  }, [])
  const [chosen, setChosen] = useState<string>()
  return (
    <section>
      <h2>How to import it</h2>
      <Loaded of={lists}>
        {(all) => {
          const list = chosen ?? given('list') ?? query.list ?? String(all[0]?.id ?? newList)
          const submit = async (fields: FormData, isDryRun = textOf(fields, 'dry') === 'yes') => {
            const listId = await listFor(fields, isDryRun)
            if (textOf(fields, 'list') === newList && listId !== undefined) {
              fields.set('list', String(listId)) // another try uses the same list
              setChosen(String(listId))
              change({ list: String(listId) }) // a second import goes to the same list
            }
            const isUnsubscribed = textOf(fields, 'status') === 'unsubscribed'
            const mode = textOf(fields, 'mode')
            const options = { listId, mode, isUnsubscribed, isDryRun, columns: columnsIn(fields) }
            const importNow = isDryRun ? () => submit(fields, false) : undefined
            await startImport(file, options, { fields, importNow })
          }
          return (
            <div
              class="card"
              onInput={({ target }) => !isFieldOf(target, 'dry') && dropDryRun()}
              onChange={({ target }) => isFieldOf(target, 'list') && setChosen(target.value)}
            >
              <Form action="Start" submit={submit}>
                <Choice
                  label="Put the contacts on"
                  name="list"
                  selected={list}
                  note={cutNote(all, 'lists')}
                  options={[
                    ...all.map(({ id, name }) => [String(id), name] as const),
                    [newList, 'a new list'] as const,
                    ['', 'the lists that the file names'] as const,
                  ]}
                />
                {list === newList && (
                  <Field
                    label="Name of the new list"
                    name="list_name"
                    required
                    maxLength={255}
                    defaultValue={given('list_name') ?? file.name.replace(/\.\w+$/, '')}
                  />
                )}
                {preview.value?.format === 'csv' && <Columns names={preview.value.columns} given={given} />}
                <Choice
                  label="Contacts that exist already"
                  name="mode"
                  selected={given('mode') ?? 'merge'}
                  options={modes}
                />
                <Choice
                  label="People in the file are"
                  name="status"
                  selected={given('status') ?? ''}
                  options={[
                    ['', 'subscribed, unless a column says otherwise'],
                    ['unsubscribed', 'unsubscribed, all of them'],
                  ]}
                />
                <Choice
                  label="What to do"
                  name="dry"
                  options={[
                    ['yes', 'dry run: check every row, store nothing'],
                    ['', 'import'],
                  ]}
                />
              </Form>
            </div>
          )
        }}
      </Loaded>
    </section>
  )
}

/** Returns the fields of the import of the file: of one under way, or of the last one if the address names no other list. */
function fieldsBefore(file: File, list: string | undefined): FormData | undefined {
  if (running.value?.file !== file) return undefined
  const { fields, report, error } = running.value
  const isUnderWay = report === undefined && error === undefined
  return isUnderWay || list === undefined || fields.get('list') === list ? fields : undefined
}

const fieldTitles = {
  email: 'E-mail',
  name: 'Name',
  first_name: 'First name',
  last_name: 'Last name',
  tags: 'Tags',
  status: 'Status',
} as const

/** Chooses columns whose names are not known. The others become attributes. */
function Columns({ names, given }: { names: readonly string[]; given(name: string): string | undefined }) {
  return (
    <details>
      <summary>Columns with other names</summary>
      <div class="more">
        <p class="muted">The usual names are recognised. Any other column becomes an attribute of its name.</p>
        {Object.entries(fieldTitles).map(([field, title]) => (
          <Choice
            key={field}
            label={`Column of: ${title}`}
            name={`column ${field}`}
            selected={names.find((name) => name === given(`column ${field}`)) ?? ''} // another file has other columns
            options={[['', 'recognised by its name'], ...names.map((name) => [name, name] as const)]}
          />
        ))}
      </div>
    </details>
  )
}

function columnsIn(fields: FormData): Record<string, string> {
  const chosen = Object.keys(fieldTitles).map((field) => [field, String(fields.get(`column ${field}`) ?? '')] as const)
  return Object.fromEntries(chosen.filter(([, column]) => column !== ''))
}

function isFieldOf(target: EventTarget | null, name: string): target is HTMLSelectElement {
  return target instanceof HTMLSelectElement && target.name === name
}

/** Returns the list for the contacts, which it creates if it is new. Undefined: none, or those that the file names. */
async function listFor(fields: FormData, isDryRun: boolean): Promise<number | undefined> {
  const list = textOf(fields, 'list')
  if (list !== newList) return list === '' ? undefined : Number(list)
  if (isDryRun) return undefined
  return (await dataOf(api.POST('/api/v1/lists', { body: { name: textOf(fields, 'list_name') } }))).id
}
