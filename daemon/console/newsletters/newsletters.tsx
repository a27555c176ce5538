import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { answerOf, api, dataOf, type Schemas } from '../api.ts'
import { NewButton } from '../parts/buttons.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Filter } from '../parts/filter.tsx'
import { Field, Form, textOf } from '../parts/form.tsx'
import { Empty } from '../parts/load.tsx'
import { Badge, Page, useQuery } from '../parts/page.tsx'
import { type Column, Listing, timeColumn, usePage } from '../parts/table.tsx'
import { number } from '../parts/time.tsx'
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
  const [{ status }] = useQuery()
  const [isCreating, setCreating] = useState(false)
  const filter = status ? { status: status as Status } : {}
  const newsletters = usePage(
    (query) => answerOf(api.GET('/api/v1/newsletters', { params: { query: { ...query, ...filter } } })),
    [status],
  )
  return (
    <Page
      title="Newsletters"
      actions={may('member') && <NewButton onClick={() => setCreating(true)}>New newsletter</NewButton>}
    >
      <search class="filters">
        <Filter name="status" label="Status" any="Any status" options={statuses} />
      </search>
      <Listing of={newsletters} empty={<NoNewsletter hasFilter={!!status} />} columns={columns} />
      {isCreating && <CreateNewsletter close={() => setCreating(false)} />}
    </Page>
  )
}

function NoNewsletter({ hasFilter }: { hasFilter: boolean }) {
  if (hasFilter) return <Empty title="No newsletter matches." />
  return (
    <Empty title="No newsletter yet.">
      A newsletter is written here, and sent to the contacts that you choose. Without a mail server or Amazon SES,
      nothing leaves the machine: on SQLite, mails are written as files.
    </Empty>
  )
}

const columns: readonly Column<Schemas['NewsletterSummary']>[] = [
  {
    title: 'Newsletter',
    cell: ({ id, name, subject }) => (
      <a href={`/console/newsletters/${id}`} data-row>
        {name || subject}
      </a>
    ),
  },
  { title: 'Status', cell: ({ status }) => <NewsletterStatus status={status} /> },
  { title: 'Sent', class: 'wide figure', cell: ({ counts }) => number(counts.sent) },
  { title: 'Failed', class: 'wide figure', cell: ({ counts }) => number(counts.failed) },
  timeColumn('Changed', ({ updated_at }) => updated_at),
]

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
