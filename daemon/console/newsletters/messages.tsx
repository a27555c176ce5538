import type { PageQuery, Schemas } from '../api.ts'
import { Filter } from '../parts/filter.tsx'
import { Empty, useLoad, useReload } from '../parts/load.tsx'
import { Badge, type Meta, useQuery } from '../parts/page.tsx'
import { type Column, Listing, Table } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'

type Message = Schemas['Message']

const kinds = { pending: 'warn', sent: 'good', failed: 'bad', skipped: 'idle', uncertain: 'warn' } as const

interface MessagesQuery extends PageQuery {
  readonly status?: Message['status']
}

interface MessagesProps {
  readonly list: (query: MessagesQuery) => Promise<{ data: Message[]; meta: Meta }>
  /** Changes when messages may have changed. */
  readonly version: string
  /** Whether messages may change without a change of `version`; default false. */
  readonly isActive?: boolean
  /** Skips or sends again the uncertain messages. Without it there are no buttons for that. */
  readonly skipOrResend?: (how: 'skip' | 'resend') => Promise<unknown>
}

/** The messages of a newsletter or a sequence, by status. */
export function Messages({ list, version, isActive = false, skipOrResend }: MessagesProps) {
  const [{ messages: cursor, status }] = useQuery()
  const query = {
    per_page: 50,
    ...(cursor && { cursor }),
    ...(status && { status: status as Message['status'] }),
  }
  const messages = useLoad(() => list(query), [cursor, status, version])
  useReload(messages, isActive)
  return (
    <>
      <search class="filters">
        <Filter name="status" label="Status of messages" any="Any status" options={Object.keys(kinds)} />
        {skipOrResend && messages.value?.data.some((message) => message.status === 'uncertain') && (
          <UncertainButtons skipOrResend={async (how) => (await skipOrResend(how)) && messages.reload()} />
        )}
      </search>
      <Listing
        of={messages}
        empty={<Empty title={status ? 'No message matches.' : 'No message yet.'} parameter="messages" />}
        columns={messageColumns(Contact)}
        parameter="messages"
      />
    </>
  )
}

interface UncertainButtonsProps {
  skipOrResend(how: 'skip' | 'resend'): unknown
  /** Default true. A cancelled newsletter sends nothing more. */
  readonly canResend?: boolean
}

/** A message is uncertain if its process died while a mail server took it. */
export function UncertainButtons({ skipOrResend, canResend = true }: UncertainButtonsProps) {
  return (
    <>
      <button type="button" onClick={() => skipOrResend('skip')}>
        Skip uncertain
      </button>
      {canResend && (
        <button type="button" onClick={() => skipOrResend('resend')}>
          Resend uncertain
        </button>
      )}
    </>
  )
}

/** @param Name Says what a row is about: the rest is the same in all rows. */
function messageColumns(Name: typeof Contact): readonly Column<Message>[] {
  return [
    {
      title: 'Message',
      cell: (message) => (
        <>
          <Name of={message} /> <small class="muted">#{message.id}</small>
          <small class="narrow">{message.error ?? message.reason}</small>
        </>
      ),
    },
    { title: 'Status', cell: ({ status }) => <Badge kind={kinds[status]}>{status}</Badge> },
    { title: 'Why', class: 'wide', cell: ({ error, reason }) => error ?? reason },
    { title: 'Sent', isTime: true, cell: ({ sent_at }) => <Time at={sent_at} none="not sent" /> },
  ]
}

/** The messages to one contact. */
export function MailingTable({ messages }: { messages: readonly Message[] }) {
  return <Table rows={messages} columns={messageColumns(Mailing)} />
}

function Contact({ of: { contact_id, contact_email } }: { of: Message }) {
  if (contact_id === null || contact_email === null) return 'erased contact'
  return (
    <a href={`/console/contacts/${contact_id}`} data-row>
      {contact_email}
    </a>
  )
}

function Mailing({ of: { newsletter_id, sequence_id } }: { of: Message }) {
  return newsletter_id === null ? (
    <a href={`/console/sequences/${sequence_id}`} data-row>
      sequence {sequence_id}
    </a>
  ) : (
    <a href={`/console/newsletters/${newsletter_id}`} data-row>
      newsletter {newsletter_id}
    </a>
  )
}
