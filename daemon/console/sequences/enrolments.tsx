import type { TargetedSubmitEvent } from 'preact'
import { answerOf, api, type Schemas } from '../api.ts'
import { textOf } from '../parts/form.tsx'
import { Empty, Loaded, useLoad, useReload } from '../parts/load.tsx'
import { attempt } from '../parts/notice.tsx'
import { Badge, Pager, useQuery } from '../parts/page.tsx'
import { ActionsHead, RowButton } from '../parts/row-button.tsx'
import { Time } from '../parts/time.tsx'
import { may } from '../session.ts'

type Enrolment = Schemas['Enrolment']

const kinds = { active: 'warn', completed: 'good', stopped: 'idle' } as const

/** The contacts on their way through a sequence. */
export function Enrolments({ sequenceId, isActive }: { sequenceId: number; isActive: boolean }) {
  const [{ cursor }] = useQuery()
  const path = { sequenceId }
  const query = { per_page: 50, ...(cursor && { cursor }) }
  const enrolments = useLoad(
    () => answerOf(api.GET('/api/v1/sequences/{sequenceId}/enrolments', { params: { path, query } })),
    [sequenceId, cursor],
  )
  useReload(enrolments, isActive)
  const stop = async ({ contact_id: contactId }: Enrolment) => {
    const call = () =>
      answerOf(
        api.DELETE('/api/v1/sequences/{sequenceId}/enrolments/{contactId}', {
          params: { path: { sequenceId, contactId } },
        }),
      )
    if (await attempt(call, 'The enrolment is stopped.')) enrolments.reload()
  }
  const enrol = async (email: string) => {
    const body = { contact_id: { email } }
    const call = () =>
      answerOf(api.POST('/api/v1/sequences/{sequenceId}/enrolments', { params: { path: { sequenceId } }, body }))
    const isDone = await attempt(call, 'The contact is enrolled.')
    if (isDone) enrolments.reload()
    return isDone
  }
  return (
    <>
      {may('admin') && <EnrolForm enrol={enrol} />}
      <Loaded of={enrolments}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty title="No contact is enrolled." />
          ) : (
            <>
              <EnrolmentTable enrolments={data} stop={stop} />
              <Pager meta={meta} />
            </>
          )
        }
      </Loaded>
    </>
  )
}

/** Enrols one contact by hand. */
function EnrolForm({ enrol }: { enrol(email: string): Promise<boolean> }) {
  const submit = async (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = event.currentTarget
    if (await enrol(textOf(new FormData(form), 'email'))) form.reset()
  }
  return (
    <form class="inline" onSubmit={submit}>
      <input
        type="email"
        name="email"
        required
        aria-label="E-mail of a contact to enrol"
        placeholder="E-mail of a contact to enrol"
      />
      <button type="submit">Enrol</button>
    </form>
  )
}

interface EnrolmentTableProps {
  readonly enrolments: readonly Enrolment[]
  readonly stop: (enrolment: Enrolment) => void
}

/** The enrolment of an erased contact is deleted soon. */
function nameOf({ contact_id, contact_email }: Enrolment): string {
  return contact_email ?? `contact ${contact_id}`
}

function EnrolmentTable({ enrolments, stop }: EnrolmentTableProps) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Contact</th>
          <th scope="col">Status</th>
          <th scope="col">Next step</th>
          <ActionsHead />
        </tr>
      </thead>
      <tbody>
        {enrolments.map((enrolment) => (
          <tr key={enrolment.id}>
            <td class="main">
              <a href={`/console/contacts/${enrolment.contact_id}`} data-row>
                {nameOf(enrolment)}
              </a>
            </td>
            <td>
              <Badge kind={kinds[enrolment.status]}>{enrolment.status}</Badge> {enrolment.reason}
            </td>
            <td class="nowrap">
              <Time at={enrolment.due_at} none="none" />
            </td>
            <td class="do">
              {enrolment.status === 'active' && may('admin') && (
                <RowButton action="Stop" of={`the enrolment of ${nameOf(enrolment)}`} onClick={() => stop(enrolment)} />
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
