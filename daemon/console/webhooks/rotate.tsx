import { useState } from 'preact/hooks'
import { api, dataOf } from '../api.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Field, Form, textOf } from '../parts/form.tsx'
import { Secret } from '../parts/page.tsx'

/** Replaces the signing secret, then shows the new one once. */
export function Rotate({ endpointId, close }: { endpointId: number; close(): void }) {
  const [secret, setSecret] = useState<string>()
  const submit = async (fields: FormData) => {
    const body = { overlap_hours: Number(textOf(fields, 'hours')) }
    const call = api.POST('/api/v1/webhook-endpoints/{endpointId}/secret', { params: { path: { endpointId } }, body })
    setSecret((await dataOf(call)).secret)
  }
  return (
    <Dialog title="Rotate the signing secret" isRequired={secret !== undefined} close={close}>
      {secret === undefined ? (
        <Form action="Rotate" cancel={close} submit={submit}>
          <Field
            label="Hours in which the old secret signs, too"
            name="hours"
            type="number"
            min={0}
            max={72}
            required
            defaultValue="24"
            hint="Receivers that accept either signature miss nothing."
          />
        </Form>
      ) : (
        <Secret label="The new secret." value={secret} close={close} />
      )}
    </Dialog>
  )
}
