import type { Schemas } from '../api.ts'
import { Empty, Loaded, useLoad, useReload } from '../parts/load.tsx'
import { Badge, type Meta, Pager, useQuery } from '../parts/page.tsx'
import { Time } from '../parts/time.tsx'

type Message = Schemas['Message']

const kinds = { pending: 'warn', sent: 'good', failed: 'bad', skipped: 'idle', uncertain: 'warn' } as const

interface MessagesQuery {
  readonly per_page: number
  readonly cursor?: string
  readonly status?: Message['status']
}

interface MessagesProps {
  readonly list: (query: MessagesQuery) => Promise<{ data: Message[]; meta: Meta }>
  /** Changes when messages may have changed. */
  readonly version: string
  /** Whether messages may change without a change of `version`; default false. */
  readonly isActive?: boolean
  /** Settles the uncertain messages. Without it the page settles them elsewhere, or the user may not. */
  readonly settle?: (how: 'skip' | 'resend') => Promise<unknown>
}

/** The messages of a newsletter or a sequence, by status. */
export function Messages({ list, version, isActive = false, settle }: MessagesProps) {
  const [{ messages: cursor, status }, change] = useQuery()
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
        <select
          aria-label="Status of messages"
          value={status ?? ''}
          onChange={(event) => change({ status: event.currentTarget.value })}
        >
          <option value="">Any status</option>
          {Object.keys(kinds).map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
        {settle && messages.value?.data.some((message) => message.status === 'uncertain') && (
          <UncertainButtons settle={async (how) => (await settle(how)) && messages.reload()} />
        )}
      </search>
      <Loaded of={messages}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty title={status ? 'No message matches.' : 'No message yet.'} parameter="messages" />
          ) : (
            <>
              <MessageTable messages={data} about="contact" />
              <Pager meta={meta} parameter="messages" />
            </>
          )
        }
      </Loaded>
    </>
  )
}

interface UncertainButtonsProps {
  settle(how: 'skip' | 'resend'): unknown
  /** Default true. A cancelled newsletter sends nothing more. */
  readonly canResend?: boolean
}

/** A message is uncertain if its process died while a mail server took it. */
export function UncertainButtons({ settle, canResend = true }: UncertainButtonsProps) {
  return (
    <>
      <button type="button" onClick={() => settle('skip')}>
        Skip uncertain
      </button>
      {canResend && (
        <button type="button" onClick={() => settle('resend')}>
          Resend uncertain
        </button>
      )}
    </>
  )
}

interface MessageTableProps {
  readonly messages: readonly Message[]
  /** What a row names: the rest is the same in all rows. */
  readonly about: 'contact' | 'mailing'
}

export function MessageTable({ messages, about }: MessageTableProps) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Message</th>
          <th scope="col">Status</th>
          <th scope="col" class="wide">
            Why
          </th>
          <th scope="col">Sent</th>
        </tr>
      </thead>
      <tbody>
        {messages.map((message) => (
          <tr key={message.id}>
            <td class="main">
              {about === 'contact' ? <Contact of={message} /> : <Mailing of={message} />}{' '}
              <small class="muted">#{message.id}</small>
              <small class="narrow">{message.error ?? message.reason}</small>
            </td>
            <td>
              <Badge kind={kinds[message.status]}>{message.status}</Badge>
            </td>
            <td class="wide">{message.error ?? message.reason}</td>
            <td class="nowrap">
              <Time at={message.sent_at} none="not sent" />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
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
