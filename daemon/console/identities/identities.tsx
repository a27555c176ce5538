import { useState } from 'preact/hooks'
import { answerOf, api, dataOf, type Schemas } from '../api.ts'
import { confirm, Dialog } from '../parts/dialog.tsx'
import { Field, Form, textOf } from '../parts/form.tsx'
import { Empty, Loaded, useLoad } from '../parts/load.tsx'
import { attempt, say } from '../parts/notice.tsx'
import { Badge, Page, Pager, useQuery } from '../parts/page.tsx'
import { ActionsHead, RowButton } from '../parts/row-button.tsx'
import { Time } from '../parts/time.tsx'
import { may } from '../session.ts'

type Identity = Schemas['Identity']

const kinds = { verified: 'good', failed: 'bad', pending: 'warn', verifying: 'warn' } as const

export function Identities() {
  const [{ cursor }] = useQuery()
  const [isCreating, setCreating] = useState(false)
  const query = { per_page: 50, ...(cursor && { cursor }) }
  const identities = useLoad(() => answerOf(api.GET('/api/v1/email-identities', { params: { query } })), [cursor])
  const create = async (fields: FormData) => {
    const body = { email: textOf(fields, 'email'), name: textOf(fields, 'name') }
    await dataOf(api.POST('/api/v1/email-identities', { body }))
    setCreating(false)
    identities.reload()
  }
  const remove = async ({ id, email }: Identity) => {
    const agreed = await confirm({
      title: 'Delete this identity?',
      text: <p>No mail can be sent from {email} then.</p>,
      action: 'Delete',
      isDangerous: true,
    })
    const path = { params: { path: { identityId: id } } }
    const call = () => answerOf(api.DELETE('/api/v1/email-identities/{identityId}', path))
    if (agreed && (await attempt(call, 'The identity is deleted.'))) identities.reload()
  }
  const refresh = async ({ id, identity_status }: Identity) => {
    const path = { params: { path: { identityId: id } } }
    const call = async () => {
      const now = await dataOf(api.POST('/api/v1/email-identities/{identityId}/refresh', path))
      say(now.identity_status === identity_status ? `It is still ${identity_status}.` : `It is ${now.identity_status}.`)
    }
    if (await attempt(call)) identities.reload()
  }
  return (
    <Page
      title="Sender identities"
      actions={
        may('admin') && (
          <button type="button" class="primary" data-new onClick={() => setCreating(true)}>
            New identity
          </button>
        )
      }
    >
      <p class="prose">
        Newsletters are sent from these addresses. While mails are written as files, they need not be verified. With
        Amazon SES, refresh an identity after its owner has followed the link that Amazon mails. With another mail
        server, add it on the server: <code>mailkeep identity add --status verified</code>.
      </p>
      <Loaded of={identities}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty title="No sender identity yet.">An identity is an address that mail may be sent from.</Empty>
          ) : (
            <>
              <IdentityTable identities={data} refresh={refresh} remove={remove} />
              <Pager meta={meta} />
            </>
          )
        }
      </Loaded>
      {isCreating && (
        <Dialog title="New identity" close={() => setCreating(false)}>
          <Form action="Create identity" cancel={() => setCreating(false)} submit={create}>
            <Field label="E-mail" name="email" type="email" required />
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

interface IdentityTableProps {
  readonly identities: readonly Identity[]
  readonly refresh: (identity: Identity) => void
  readonly remove: (identity: Identity) => void
}

function IdentityTable({ identities, refresh, remove }: IdentityTableProps) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Address</th>
          <th scope="col" class="wide">
            Name
          </th>
          <th scope="col">State</th>
          <th scope="col" class="wide">
            Verified
          </th>
          <ActionsHead />
        </tr>
      </thead>
      <tbody>
        {identities.map((identity) => (
          <tr key={identity.id}>
            <td class="main">{identity.email}</td>
            <td class="wide">{identity.name}</td>
            <td>
              <Badge kind={kinds[identity.identity_status]}>{identity.identity_status}</Badge>
            </td>
            <td class="wide nowrap">
              <Time at={identity.verified_at} />
            </td>
            <td class="do">
              {may('admin') && (
                <>
                  {isUnderWay(identity) && (
                    <RowButton action="Refresh" of={identity.email} onClick={() => refresh(identity)} />
                  )}
                  <RowButton action="Delete" of={identity.email} onClick={() => remove(identity)} />
                </>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
