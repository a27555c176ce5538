import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { answerOf, api, dataOf, type Schemas } from '../api.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Field, Form, textOf } from '../parts/form.tsx'
import { Empty, Loaded, useLoad } from '../parts/load.tsx'
import { Badge, Page, Pager, useQuery } from '../parts/page.tsx'
import { number, Time } from '../parts/time.tsx'
import { may } from '../session.ts'
import { firstContent } from './content.tsx'

type Status = Schemas['Newsletter']['status']

const statuses: readonly Status[] = ['draft', 'scheduled', 'sending', 'paused', 'sent', 'cancelled', 'failed']

const kinds = {
  draft: 'idle',
  scheduled: 'warn',
  sending: 'warn',
  paused: 'warn',
  sent: 'good',
  cancelled: 'idle',
  failed: 'bad',
} as const

export function NewsletterStatus({ status }: { status: Status }) {
  return <Badge kind={kinds[status]}>{status}</Badge>
}

export function Newsletters() {
  const [{ cursor, status }, change] = useQuery()
  const [isCreating, setCreating] = useState(false)
  const query = { per_page: 50, ...(cursor && { cursor }), ...(status && { status: status as Status }) }
  const newsletters = useLoad(() => answerOf(api.GET('/api/v1/newsletters', { params: { query } })), [cursor, status])
  return (
    <Page
      title="Newsletters"
      actions={
        may('member') && (
          <button type="button" class="primary" data-new onClick={() => setCreating(true)}>
            New newsletter
          </button>
        )
      }
    >
      <search class="filters">
        <select
          aria-label="Status"
          data-search
          value={status ?? ''}
          onChange={(event) => change({ status: event.currentTarget.value })}
        >
          <option value="">Any status</option>
          {statuses.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      </search>
      <Loaded of={newsletters}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <NoNewsletter hasFilter={!!status} />
          ) : (
            <>
              <NewsletterTable newsletters={data} />
              <Pager meta={meta} />
            </>
          )
        }
      </Loaded>
      {isCreating && <CreateNewsletter close={() => setCreating(false)} />}
    </Page>
  )
}

function NoNewsletter({ hasFilter }: { hasFilter: boolean }) {
  if (hasFilter) return <Empty title="No newsletter matches." />
  return (
    <Empty title="No newsletter yet.">
      A newsletter is written here, and sent to the contacts that you choose. Unless the server was given a mail server,
      nothing leaves the machine: mails are written as files.
    </Empty>
  )
}

function NewsletterTable({ newsletters }: { newsletters: readonly Schemas['NewsletterSummary'][] }) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Newsletter</th>
          <th scope="col">Status</th>
          <th scope="col" class="wide figure">
            Sent
          </th>
          <th scope="col" class="wide figure">
            Failed
          </th>
          <th scope="col">Changed</th>
        </tr>
      </thead>
      <tbody>
        {newsletters.map(({ id, name, subject, status, counts, updated_at }) => (
          <tr key={id}>
            <td class="main">
              <a href={`/console/newsletters/${id}`} data-row>
                {name || subject}
              </a>
            </td>
            <td>
              <NewsletterStatus status={status} />
            </td>
            <td class="wide figure">{number(counts.sent)}</td>
            <td class="wide figure">{number(counts.failed)}</td>
            <td class="nowrap">
              <Time at={updated_at} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function CreateNewsletter({ close }: { close(): void }) {
  const { route } = useLocation()
  const submit = async (fields: FormData) => {
    const body = { subject: textOf(fields, 'subject'), html: firstContent }
    const { id } = await dataOf(api.POST('/api/v1/newsletters', { body }))
    close()
    route(`/console/newsletters/${id}`)
  }
  return (
    <Dialog title="New newsletter" close={close}>
      <Form action="Create draft" cancel={close} submit={submit}>
        <Field label="Subject" name="subject" required hint="Liquid: {{ contact.name }}" />
      </Form>
    </Dialog>
  )
}
