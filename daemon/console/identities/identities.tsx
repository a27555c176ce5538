import { answerOf, api, type Schemas } from '../api.ts'
import { Empty, Loaded, useLoad } from '../parts/load.tsx'
import { Badge, Page, Pager, useQuery } from '../parts/page.tsx'
import { Time } from '../parts/time.tsx'

const kinds = { verified: 'good', failed: 'bad', pending: 'warn', verifying: 'warn' } as const

export function Identities() {
  const [{ cursor }] = useQuery()
  const query = { per_page: 50, ...(cursor && { cursor }) }
  const identities = useLoad(() => answerOf(api.GET('/api/v1/email-identities', { params: { query } })), [cursor])
  return (
    <Page
      title="Sender identities"
      actions={
        <button type="button" onClick={identities.reload}>
          Refresh
        </button>
      }
    >
      <Loaded of={identities}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty title="No sender identity yet.">
              <code>mailkeep identity create</code> adds an address that mail may be sent from.
            </Empty>
          ) : (
            <>
              <IdentityTable identities={data} />
              <Pager meta={meta} />
            </>
          )
        }
      </Loaded>
    </Page>
  )
}

function IdentityTable({ identities }: { identities: readonly Schemas['Identity'][] }) {
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
          </tr>
        ))}
      </tbody>
    </table>
  )
}
