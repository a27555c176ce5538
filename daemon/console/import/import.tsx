import { useState } from 'preact/hooks'
import { Loaded, useLoad } from '../parts/load.tsx'
import { Page } from '../parts/page.tsx'
import { DropZone } from './drop-zone.tsx'
import { previewOf } from './file.ts'
import { ImportOptions } from './import-options.tsx'
import { Progress } from './progress.tsx'
import { running } from './running.ts'

export function Import() {
  const [file, setFile] = useState<File | undefined>(running.value?.file)
  const current = running.value
  const isBusy = current !== undefined && current.report === undefined && current.error === undefined
  return (
    <Page title="Import">
      {isBusy && (
        <p>
          <strong>{current.file.name}</strong>
        </p>
      )}
      <div hidden={isBusy}>
        <DropZone file={file} choose={setFile} />
      </div>
      {file && (
        <div hidden={isBusy}>
          <Preview file={file} />
          <ImportOptions file={file} />
        </div>
      )}
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
