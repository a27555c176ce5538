import { useState } from 'preact/hooks'
import { answerOf, api, dataOf, type Schemas } from '../api.ts'
import { NewButton, RowButton } from '../parts/buttons.tsx'
import { confirmAndRun, Dialog } from '../parts/dialog.tsx'
import { Field, Form, textOf } from '../parts/form.tsx'
import { Empty } from '../parts/load.tsx'
import { attempt, say } from '../parts/notice.tsx'
import { Badge, Page } from '../parts/page.tsx'
import { type Column, Listing, timeColumn, usePage } from '../parts/table.tsx'
import { may } from '../session.ts'

type Identity = Schemas['Identity']

const kinds = { verified: 'good', failed: 'bad', pending: 'warn', verifying: 'warn' } as const

export function Identities() {
  const [isCreating, setCreating] = useState(false)
  const identities = usePage((query) => answerOf(api.GET('/api/v1/email-identities', { params: { query } })))
  const create = async (fields: FormData) => {
    const body = { email: textOf(fields, 'email'), name: textOf(fields, 'name') }
    await dataOf(api.POST('/api/v1/email-identities', { body }))
    setCreating(false)
    identities.reload()
  }
  const remove = async ({ id, email }: Identity) => {
    const question = {
      title: 'Delete this identity?',
      text: <p>No mail can be sent from {email} then.</p>,
      action: 'Delete',
    }
    const path = { params: { path: { emailIdentityId: id } } }
    const call = () => answerOf(api.DELETE('/api/v1/email-identities/{emailIdentityId}', path))
    if (await confirmAndRun(question, call, 'The identity is deleted.')) identities.reload()
  }
  const refresh = async ({ id, identity_status }: Identity) => {
    const path = { params: { path: { emailIdentityId: id } } }
    const call = async () => {
      const now = await dataOf(api.POST('/api/v1/email-identities/{emailIdentityId}/refresh', path))
      say(now.identity_status === identity_status ? `It is still ${identity_status}.` : `It is ${now.identity_status}.`)
    }
    if (await attempt(call)) identities.reload()
  }
  return (
    <Page
      title="Sender identities"
      actions={may('admin') && <NewButton onClick={() => setCreating(true)}>New identity</NewButton>}
    >
      <p class="prose">
        Newsletters are sent from these addresses. While mails are written as files, they need not be verified. With
        Amazon SES, refresh an identity after its owner has followed the link that Amazon mails. With another mail
        server, add it on the server:{' '}
        <code>
          mailkeep identity add <span class="nowrap">--status verified</span>
        </code>
        .
      </p>
      <Listing
        of={identities}
        empty={<Empty title="No sender identity yet.">An identity is an address that mail may be sent from.</Empty>}
        columns={columns}
        actions={(identity) =>
          may('admin') && (
            <>
              {isUnderWay(identity) && (
                <RowButton action="Refresh" of={identity.email} onClick={() => refresh(identity)} />
              )}
              <RowButton action="Delete" of={identity.email} onClick={() => remove(identity)} />
            </>
          )
        }
      />
      {isCreating && (
        <Dialog title="New identity" close={() => setCreating(false)}>
          <Form action="Create identity" cancel={() => setCreating(false)} submit={create}>
            <Field label="E-mail" name="email" type="address" required />
            <Field label="Name" name="name" hint="Recipients see it beside the address." />
          </Form>
        </Dialog>
      )}
    </Page>
  )
}

function isUnderWay({ identity_status }: Identity): boolean {
  return identity_status === 'pending' || identity_status === 'verifying'
}

const columns: readonly Column<Identity>[] = [
  { title: 'Address', cell: ({ email }) => email },
  { title: 'Name', class: 'wide', cell: ({ name }) => name },
  { title: 'State', cell: ({ identity_status }) => <Badge kind={kinds[identity_status]}>{identity_status}</Badge> },
  timeColumn('Verified', ({ verified_at }) => verified_at, true),
]
