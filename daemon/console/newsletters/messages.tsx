import type { PageQuery, Schemas } from '../api.ts'
import { confirmAndRun } from '../parts/dialog.tsx'
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
  /** Without it there are no buttons for uncertain messages. */
  readonly uncertain?: UncertainProps
}

/** The messages of a newsletter or a sequence, by status. */
export function Messages({ list, version, isActive = false, uncertain }: MessagesProps) {
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
        {uncertain && messages.value?.data.some((message) => message.status === 'uncertain') && (
          <UncertainButtons
            {...uncertain}
            skipOrResend={async (how) => {
              await uncertain.skipOrResend(how)
              messages.reload()
            }}
          />
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

interface UncertainProps {
  /** A paused one is resumed by it. */
  readonly skipOrResend: (how: 'skip' | 'resend') => Promise<unknown>
  /** What is paused. */
  readonly paused?: 'newsletter' | 'sequence' | undefined
  /** Default true. A cancelled newsletter sends nothing more. */
  readonly canResend?: boolean
}

const uncertainChoices = {
  skip: {
    title: 'Skip the uncertain messages?',
    text: 'They are never sent again, although some may not have arrived. This cannot be undone.',
    action: 'Skip them',
    done: 'The uncertain messages are skipped.',
  },
  resend: {
    title: 'Send the uncertain messages again?',
    text: 'Some of them may have arrived. Contacts may get the mail twice.',
    action: 'Send again',
    done: 'The uncertain messages are sent again.',
  },
} as const

/** A message is uncertain if its process died while a mail server took it. */
export function UncertainButtons({ skipOrResend, paused, canResend = true }: UncertainProps) {
  const ask = (how: 'skip' | 'resend') => {
    const { title, text, action, done } = uncertainChoices[how]
    const question = {
      title,
      text: (
        <>
          <p>{text}</p>
          {paused && <p>The {paused} is paused. It is resumed, too.</p>}
        </>
      ),
      action,
    }
    return confirmAndRun(question, () => skipOrResend(how), done)
  }
  return (
    <>
      <button type="button" onClick={() => ask('skip')}>
        Skip uncertain
      </button>
      {canResend && (
        <button type="button" onClick={() => ask('resend')}>
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
