import type { TargetedEvent } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { api, dataOf, RequestError, type Schemas } from '../api.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Field, Form, textOf } from '../parts/form.tsx'
import { say } from '../parts/notice.tsx'

type Contact = Schemas['Contact']

/** Edits the address, the name and the attributes. */
export function EditContact({ contact, close, reload }: { contact: Contact; close(): void; reload(): void }) {
  const [rows, setRows] = useState(() =>
    Object.entries(contact.extra_attributes).map(([name, value]) => ({ name, value, hasLines: /[\r\n]/.test(value) })),
  )
  /** The values that this dialog has shown or stored last. */
  const last = useRef(contact)
  const path = { params: { path: { contactId: contact.id } } }
  const submit = async (fields: FormData) => {
    const email = textOf(fields, 'email')
    const name = textOf(fields, 'name')
    const before = last.current
    const shownName = before.name.replace(/[\r\n]/g, '').trim() // as the field shows it
    const body = { ...(name !== shownName && { name }), ...changedAttributes(before.extra_attributes, rows) }
    if (email !== before.email) {
      await dataOf(api.POST('/api/v1/contacts/{contactId}/email', { ...path, body: { email } }))
      last.current = { ...before, email }
      reload() // the address is stored, whatever becomes of the rest
    }
    await dataOf(api.PUT('/api/v1/contacts/{contactId}', { ...path, body: body as Schemas['ContactChange'] }))
    say('The contact is saved.')
    close()
    reload()
  }
  const change = (at: number, changed: { name?: string; value?: string }) =>
    setRows(rows.map((row, n) => (n === at ? { ...row, ...changed } : row)))
  return (
    <Dialog title="Edit contact" close={close}>
      <Form action="Save" cancel={close} submit={submit}>
        <Field label="E-mail" name="email" type="address" required defaultValue={last.current.email} />
        <Field label="Name" name="name" maxLength={255} defaultValue={last.current.name} />
        <fieldset>
          <legend>Attributes</legend>
          {rows.map(({ name, value, hasLines }, at) => (
            <div class="attribute" key={at}>
              <input
                type="text"
                aria-label={`Name of attribute ${at + 1}`}
                required={value !== ''}
                value={name}
                onInput={(event) => change(at, { name: event.currentTarget.value })}
              />
              <Value
                label={`Value of attribute ${at + 1}`}
                value={value}
                hasLines={hasLines}
                change={(text) => change(at, { value: text })}
              />
              <button
                type="button"
                class="plain"
                aria-label={`Remove attribute ${at + 1}`}
                onClick={() => setRows(rows.filter((_, n) => n !== at))}
              >
                ✕
              </button>
            </div>
          ))}
          <button type="button" onClick={() => setRows([...rows, { name: '', value: '', hasLines: false }])}>
            Add attribute
          </button>
        </fieldset>
      </Form>
    </Dialog>
  )
}

interface ValueProps {
  readonly label: string
  readonly value: string
  readonly hasLines: boolean
  readonly change: (text: string) => void
}

/** The field for the value of an attribute. A field of one line would remove line breaks. */
function Value({ label, value, hasLines, change }: ValueProps) {
  const field = {
    'aria-label': label,
    value,
    onInput: ({ currentTarget }: TargetedEvent<HTMLInputElement | HTMLTextAreaElement>) => change(currentTarget.value),
  }
  return hasLines ? <textarea rows={2} {...field} /> : <input type="text" {...field} />
}

/** Returns what changed, as an update takes it: `null` removes an attribute. Another program may have changed the rest. */
function changedAttributes(
  before: Readonly<Record<string, string>>,
  rows: readonly { readonly name: string; readonly value: string }[],
): Record<string, string | null> {
  const after = new Map<string, string>()
  for (const { name, value } of rows) {
    if (name === '') continue
    if (fieldNames.has(name)) throw wrong(`"${name}" is a field of the contact, not an attribute.`)
    if (after.has(name)) throw wrong(`There are two attributes "${name}".`)
    after.set(name, value)
  }
  const changed = [...after].filter(([name, value]) => before[name] !== value)
  const removed = Object.keys(before).filter((name) => !after.has(name))
  return Object.fromEntries([...removed.map((name) => [name, null] as const), ...changed])
}

/** Fields of a contact that a change may have. */
const fieldNames: ReadonlySet<string> = new Set(['email', 'name', 'tags'])

function wrong(message: string): RequestError {
  return new RequestError(message, 'validation_failed')
}
