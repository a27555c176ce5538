import { useState } from 'preact/hooks'
import { allOf, answerOf, api } from '../api.ts'
import { Choice, Form, textOf } from '../parts/form.tsx'
import { Loaded, useLoad } from '../parts/load.tsx'
import { Page, useQuery } from '../parts/page.tsx'
import { number } from '../parts/time.tsx'
import { DropZone } from './drop-zone.tsx'
import { previewOf } from './file.ts'
import { Progress } from './progress.tsx'
import { running, startImport } from './running.ts'

const modes: readonly (readonly [string, string])[] = [
  ['merge', 'add tags and attributes'],
  ['skip', 'stay as they are'],
  ['replace_tags', 'get the tags of the file and lose others'],
]

export function Import() {
  const [file, setFile] = useState<File | undefined>(running.value?.file)
  const current = running.value
  const isBusy = current !== undefined && current.report === undefined && current.error === undefined
  return (
    <Page title="Import">
      {isBusy ? (
        <p>
          <strong>{current.file.name}</strong>
        </p>
      ) : (
        <DropZone file={file} choose={setFile} />
      )}
      {file && !isBusy && <Preview file={file} />}
      {file && !isBusy && <Options file={file} />}
      {current && current.file === file && <Progress of={current} />}
    </Page>
  )
}

function Preview({ file }: { file: File }) {
  const preview = useLoad(() => previewOf(file), [file])
  return (
    <section>
      <h2>First rows</h2>
      <Loaded of={preview}>
        {({ columns, rows }) => (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must take the focus
          <section class="scroll" tabIndex={0} aria-label="First rows of the file">
            <table>
              <thead>
                <tr>
                  {columns.map((name) => (
                    <th key={name} scope="col">
                      {name}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {rows.map((row, at) => (
                  <tr key={`${at}-${row[0]}`}>
                    {columns.map((name, column) => (
                      <td key={name}>{row[column]}</td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </section>
        )}
      </Loaded>
    </section>
  )
}

function Options({ file }: { file: File }) {
  const [query] = useQuery()
  const lists = useLoad(
    () =>
      allOf((cursor) =>
        answerOf(api.GET('/api/v1/lists', { params: { query: { per_page: 100, ...(cursor && { cursor }) } } })),
      ),
    [],
  )
  const submit = async (fields: FormData) => {
    const list = textOf(fields, 'list')
    await startImport(file, {
      listId: list === '' ? undefined : Number(list),
      mode: textOf(fields, 'mode'),
      isUnsubscribed: textOf(fields, 'status') === 'unsubscribed',
      isDryRun: textOf(fields, 'dry') === 'yes',
    })
  }
  return (
    <section>
      <h2>How to import {number(file.size)} bytes</h2>
      <Loaded of={lists}>
        {(all) => (
          <div class="card">
            <Form action="Start" submit={submit}>
              <Choice
                label="Put the contacts on"
                name="list"
                selected={query.list ?? String(all[0]?.id ?? '')}
                options={[
                  ...all.map(({ id, name }) => [String(id), name] as const),
                  ['', 'the lists that the file names'] as const,
                ]}
              />
              <Choice label="Contacts that exist already" name="mode" options={modes} />
              <Choice
                label="People in the file are"
                name="status"
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
        )}
      </Loaded>
    </section>
  )
}
