import { useState } from 'preact/hooks'
import { answerOf, api, dataOf, type Schemas } from '../api.ts'
import { NewButton, RowButton } from '../parts/buttons.tsx'
import { confirmAndRun, Dialog } from '../parts/dialog.tsx'
import { Field, Form, textOf } from '../parts/form.tsx'
import { Empty } from '../parts/load.tsx'
import { Page } from '../parts/page.tsx'
import { type Column, Listing, timeColumn, usePage } from '../parts/table.tsx'
import { may } from '../session.ts'

type Suppression = Schemas['Suppression']

/** Addresses that must not be mailed. */
export function Suppressions() {
  const [isCreating, setCreating] = useState(false)
  const suppressions = usePage((query) => answerOf(api.GET('/api/v1/suppressions', { params: { query } })))
  const create = async (fields: FormData) => {
    await dataOf(api.POST('/api/v1/suppressions', { body: { email: textOf(fields, 'email') } }))
    setCreating(false)
    suppressions.reload()
  }
  const remove = async ({ id, email }: Suppression) => {
    const question = {
      title: 'Remove this suppression?',
      text: <p>{email ?? 'The erased address'} can be mailed again.</p>,
      action: 'Remove',
    }
    const path = { params: { path: { suppressionId: id } } }
    const call = () => answerOf(api.DELETE('/api/v1/suppressions/{suppressionId}', path))
    if (await confirmAndRun(question, call, 'The suppression is removed.')) suppressions.reload()
  }
  return (
    <Page
      title="Suppressions"
      actions={may('member') && <NewButton onClick={() => setCreating(true)}>Suppress an address</NewButton>}
    >
      <Listing
        of={suppressions}
        empty={<Empty title="No address is suppressed.">Hard bounces and complaints appear here.</Empty>}
        columns={columns}
        actions={(one) =>
          may('member') && (
            <RowButton action="Remove" of={one.email ?? `suppression ${one.id}`} onClick={() => remove(one)} />
          )
        }
      />
      {isCreating && (
        <Dialog title="Suppress an address" close={() => setCreating(false)}>
          <Form action="Suppress" cancel={() => setCreating(false)} submit={create}>
            <Field
              label="E-mail"
              name="email"
              type="address"
              required
              hint="It is not mailed, with or without a contact."
            />
          </Form>
        </Dialog>
      )}
    </Page>
  )
}

const columns: readonly Column<Suppression>[] = [
  { title: 'Address', cell: ({ email }) => email ?? <span class="muted">erased</span> },
  { title: 'Reason', cell: ({ reason }) => reason },
  timeColumn('Since', ({ created_at }) => created_at, true),
]
