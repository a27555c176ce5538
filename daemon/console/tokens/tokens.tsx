import { useState } from 'preact/hooks'
import { answerOf, api, dataOf, type Schemas } from '../api.ts'
import { NewButton, RowButton } from '../parts/buttons.tsx'
import { confirmAndRun, Dialog } from '../parts/dialog.tsx'
import { Choice, Field, Form, textOf } from '../parts/form.tsx'
import { Empty } from '../parts/load.tsx'
import { Page, Secret } from '../parts/page.tsx'
import { type Column, Listing, timeColumn, usePage } from '../parts/table.tsx'
import { tokenId } from '../session.ts'

type Token = Schemas['Token']

export function Tokens() {
  const [isCreating, setCreating] = useState(false)
  const tokens = usePage((query) => answerOf(api.GET('/api/v1/tokens', { params: { query } })))
  const revoke = async (token: Token) => {
    const { id } = token
    const question = {
      title: 'Revoke this token?',
      text: (
        <p>
          Programs that use <strong>{nameOf(token)}</strong> are refused from then on. This cannot be undone.
          {id === tokenId.value && ' You are signed in with this token: you will be signed out.'}
        </p>
      ),
      action: 'Revoke',
    }
    const call = () => answerOf(api.DELETE('/api/v1/tokens/{tokenId}', { params: { path: { tokenId: id } } }))
    if (await confirmAndRun(question, call, 'The token is revoked.')) tokens.reload()
  }
  return (
    <Page title="Tokens" actions={<NewButton onClick={() => setCreating(true)}>New token</NewButton>}>
      <Listing
        of={tokens}
        empty={<Empty title="No token." />}
        columns={columns}
        actions={(token) => <RowButton action="Revoke" of={nameOf(token)} onClick={() => revoke(token)} />}
      />
      {isCreating && <CreateToken close={() => setCreating(false)} created={tokens.reload} />}
    </Page>
  )
}

function nameOf({ id, name }: Token): string {
  return name ?? `token ${id}`
}

const columns: readonly Column<Token>[] = [
  {
    title: 'Name',
    cell: ({ id, name }) => (
      <>
        {name ?? <span class="muted">without a name</span>} <small class="muted">#{id}</small>
        {id === tokenId.value && <small class="muted"> of this session</small>}
      </>
    ),
  },
  { title: 'Role', cell: ({ role }) => role },
  timeColumn('Created', ({ created_at }) => created_at, true),
  timeColumn('Last used', ({ last_used_at }) => last_used_at, true),
  timeColumn('Expires', ({ expires_at }) => expires_at, true),
]

function CreateToken({ close, created }: { close(): void; created(): void }) {
  const [value, setValue] = useState<string>()
  const submit = async (fields: FormData) => {
    const days = Number(textOf(fields, 'days'))
    const body = {
      name: textOf(fields, 'name'),
      role: textOf(fields, 'role') as Token['role'],
      ...(days > 0 && { expires_in: days * 86_400 }),
    }
    setValue((await dataOf(api.POST('/api/v1/tokens', { body }))).token)
    created()
  }
  return (
    <Dialog
      title={value === undefined ? 'New token' : 'The token is created'}
      isRequired={value !== undefined}
      close={close}
    >
      {value === undefined ? (
        <Form action="Create token" cancel={close} submit={submit}>
          <Field label="Name" name="name" required maxLength={255} placeholder="website" />
          <Choice
            label="Role"
            name="role"
            options={[
              ['member', 'member: reads and writes contacts'],
              ['viewer', 'viewer: reads'],
              ['admin', 'admin: may do everything'],
            ]}
          />
          <Choice
            label="Valid for"
            name="days"
            options={[
              ['', 'until it is revoked'],
              ['30', '30 days'],
              ['90', '90 days'],
              ['365', 'one year'],
            ]}
          />
        </Form>
      ) : (
        <Secret label="The token." value={value} close={close}>
          <p class="muted">A person signs in with it at {location.origin}/</p>
        </Secret>
      )}
    </Dialog>
  )
}
