import { useState } from 'preact/hooks'
import { answerOf, api, dataOf, type Schemas } from '../api.ts'
import { confirm, Dialog } from '../parts/dialog.tsx'
import { Field, Form, textOf } from '../parts/form.tsx'
import { Empty, Loaded, useLoad } from '../parts/load.tsx'
import { attempt } from '../parts/notice.tsx'
import { Page, Pager, useQuery } from '../parts/page.tsx'
import { ActionsHead, RowButton } from '../parts/row-button.tsx'
import { Time } from '../parts/time.tsx'
import { may } from '../session.ts'

type Suppression = Schemas['Suppression']

/** Addresses that must not be mailed. */
export function Suppressions() {
  const [{ cursor }] = useQuery()
  const [isCreating, setCreating] = useState(false)
  const query = { per_page: 50, ...(cursor && { cursor }) }
  const suppressions = useLoad(() => answerOf(api.GET('/api/v1/suppressions', { params: { query } })), [cursor])
  const create = async (fields: FormData) => {
    await dataOf(api.POST('/api/v1/suppressions', { body: { email: textOf(fields, 'email') } }))
    setCreating(false)
    suppressions.reload()
  }
  const remove = async ({ id, email }: Suppression) => {
    const agreed = await confirm({
      title: 'Remove this suppression?',
      text: <p>{email ?? 'The erased address'} can be mailed again.</p>,
      action: 'Remove',
      isDangerous: true,
    })
    const path = { params: { path: { suppressionId: id } } }
    const call = () => answerOf(api.DELETE('/api/v1/suppressions/{suppressionId}', path))
    if (agreed && (await attempt(call, 'The suppression is removed.'))) suppressions.reload()
  }
  return (
    <Page
      title="Suppressions"
      actions={
        may('member') && (
          <button type="button" class="primary" data-new onClick={() => setCreating(true)}>
            Suppress an address
          </button>
        )
      }
    >
      <Loaded of={suppressions}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty title="No address is suppressed.">Hard bounces and complaints appear here.</Empty>
          ) : (
            <>
              <SuppressionTable suppressions={data} remove={remove} />
              <Pager meta={meta} />
            </>
          )
        }
      </Loaded>
      {isCreating && (
        <Dialog title="Suppress an address" close={() => setCreating(false)}>
          <Form action="Suppress" cancel={() => setCreating(false)} submit={create}>
            <Field
              label="E-mail"
              name="email"
              type="email"
              required
              hint="It is not mailed, with or without a contact."
            />
          </Form>
        </Dialog>
      )}
    </Page>
  )
}

interface SuppressionTableProps {
  readonly suppressions: readonly Suppression[]
  readonly remove: (suppression: Suppression) => void
}

function SuppressionTable({ suppressions, remove }: SuppressionTableProps) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Address</th>
          <th scope="col">Reason</th>
          <th scope="col" class="wide">
            Since
          </th>
          <ActionsHead />
        </tr>
      </thead>
      <tbody>
        {suppressions.map((one) => (
          <tr key={one.id}>
            <td class="main">{one.email ?? <span class="muted">erased</span>}</td>
            <td>{one.reason}</td>
            <td class="wide nowrap">
              <Time at={one.created_at} />
            </td>
            <td class="do">
              {may('member') && (
                <RowButton action="Remove" of={one.email ?? `suppression ${one.id}`} onClick={() => remove(one)} />
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
