import { useRef } from 'preact/hooks'
import { api, dataOf } from '../api.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Form, TextArea } from '../parts/form.tsx'
import { Loaded, useLoad } from '../parts/load.tsx'
import { say } from '../parts/notice.tsx'

/** Declares the attributes by which contacts can be filtered. */
export function AttributesDialog({ close }: { close(): void }) {
  const settings = useLoad(() => dataOf(api.GET('/api/v1/settings/attributes')), [])
  return (
    <Dialog title="Attributes to filter by" close={close}>
      <Loaded of={settings}>{({ indexed }) => <AttributesForm indexed={indexed} close={close} />}</Loaded>
    </Dialog>
  )
}

function AttributesForm({ indexed, close }: { indexed: readonly string[]; close(): void }) {
  /** The names that the form began with. */
  const { current: shown } = useRef(indexed)
  const submit = async (fields: FormData) => {
    const names = String(fields.get('indexed'))
      .split(/\s*\n\s*/)
      .filter(Boolean)
    // Another admin may have changed other names.
    const stored = (await dataOf(api.GET('/api/v1/settings/attributes'))).indexed
    const kept = stored.filter((name) => names.includes(name) || !shown.includes(name))
    const added = names.filter((name) => !shown.includes(name) && !stored.includes(name))
    await dataOf(api.PUT('/api/v1/settings/attributes', { body: { indexed: [...kept, ...added] } }))
    say('The attributes are saved.')
    close()
  }
  return (
    <Form action="Save" cancel={close} submit={submit}>
      <TextArea
        label="Names"
        name="indexed"
        rows={5}
        defaultValue={shown.join('\n')}
        hint="One on each line, at most 10. With many contacts the index takes a while."
      />
    </Form>
  )
}
