import { api, dataOf } from '../api.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Form, TextArea } from '../parts/form.tsx'
import { Loaded, useLoad } from '../parts/load.tsx'
import { say } from '../parts/notice.tsx'

/** Declares the attributes by which contacts can be filtered. */
export function AttributesDialog({ close }: { close(): void }) {
  const settings = useLoad(() => dataOf(api.GET('/api/v1/settings/attributes')), [])
  const submit = async (fields: FormData) => {
    const indexed = String(fields.get('indexed'))
      .split(/\s*\n\s*/)
      .filter(Boolean)
    await dataOf(api.PUT('/api/v1/settings/attributes', { body: { indexed } }))
    say('The attributes are saved.')
    close()
  }
  return (
    <Dialog title="Attributes to filter by" close={close}>
      <Loaded of={settings}>
        {({ indexed }) => (
          <Form action="Save" cancel={close} submit={submit}>
            <TextArea
              label="Names"
              name="indexed"
              rows={5}
              defaultValue={indexed.join('\n')}
              hint="One on each line, at most 10. With many contacts the index takes a while."
            />
          </Form>
        )}
      </Loaded>
    </Dialog>
  )
}
