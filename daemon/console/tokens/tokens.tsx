import { useState } from 'preact/hooks'
import { answerOf, api, dataOf, type Schemas } from '../api.ts'
import { confirm, Dialog } from '../parts/dialog.tsx'
import { Choice, Field, Form, textOf } from '../parts/form.tsx'
import { Empty, Loaded, useLoad } from '../parts/load.tsx'
import { attempt } from '../parts/notice.tsx'
import { Page, Pager, Secret, useQuery } from '../parts/page.tsx'
import { ActionsHead, RowButton } from '../parts/row-button.tsx'
import { Time } from '../parts/time.tsx'
import { tokenId } from '../session.ts'

type Token = Schemas['Token']

export function Tokens() {
  const [{ cursor }] = useQuery()
  const [isCreating, setCreating] = useState(false)
  const query = { per_page: 50, ...(cursor && { cursor }) }
  const tokens = useLoad(() => answerOf(api.GET('/api/v1/tokens', { params: { query } })), [cursor])
  const revoke = async ({ id, name }: Token) => {
    const agreed = await confirm({
      title: 'Revoke this token?',
      text: (
        <p>
          Programs that use <strong>{name ?? `token ${id}`}</strong> are refused from then on. This cannot be undone.
          {id === tokenId.value && ' You are signed in with this token: you will be signed out.'}
        </p>
      ),
      action: 'Revoke',
      isDangerous: true,
    })
    const call = () => answerOf(api.DELETE('/api/v1/tokens/{tokenId}', { params: { path: { tokenId: id } } }))
    if (agreed && (await attempt(call, 'The token is revoked.'))) tokens.reload()
  }
  return (
    <Page
      title="Tokens"
      actions={
        <button type="button" class="primary" data-new onClick={() => setCreating(true)}>
          New token
        </button>
      }
    >
      <Loaded of={tokens}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty title="No token." />
          ) : (
            <>
              <TokenTable tokens={data} revoke={revoke} />
              <Pager meta={meta} />
            </>
          )
        }
      </Loaded>
      {isCreating && <CreateToken close={() => setCreating(false)} created={tokens.reload} />}
    </Page>
  )
}

function TokenTable({ tokens, revoke }: { tokens: readonly Token[]; revoke(token: Token): void }) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Role</th>
          <th scope="col" class="wide">
            Created
          </th>
          <th scope="col" class="wide">
            Last used
          </th>
          <th scope="col" class="wide">
            Expires
          </th>
          <ActionsHead />
        </tr>
      </thead>
      <tbody>
        {tokens.map((token) => (
          <tr key={token.id}>
            <td class="main">
              {token.name ?? <span class="muted">without a name</span>} <small class="muted">#{token.id}</small>
              {token.id === tokenId.value && <small class="muted"> of this session</small>}
            </td>
            <td>{token.role}</td>
            <td class="wide nowrap">
              <Time at={token.created_at} />
            </td>
            <td class="wide nowrap">
              <Time at={token.last_used_at} />
            </td>
            <td class="wide nowrap">
              <Time at={token.expires_at} />
            </td>
            <td class="do">
              <RowButton action="Revoke" of={token.name ?? `token ${token.id}`} onClick={() => revoke(token)} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

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
    <Dialog title={value === undefined ? 'New token' : 'The token is created'} close={close}>
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
        <>
          <div class="body">
            <Secret label="The token." value={value} />
            <p class="muted">A person signs in with it at {location.origin}/</p>
          </div>
          <footer>
            <button type="button" class="primary" onClick={close}>
              I have copied it
            </button>
          </footer>
        </>
      )}
    </Dialog>
  )
}
