import type { TargetedSubmitEvent } from 'preact'
import { answerOf, api, type Schemas } from '../api.ts'
import { RowButton } from '../parts/buttons.tsx'
import { confirmAndRun } from '../parts/dialog.tsx'
import { addressInput, textOf } from '../parts/form.tsx'
import { Empty, useReload } from '../parts/load.tsx'
import { attempt } from '../parts/notice.tsx'
import { Badge } from '../parts/page.tsx'
import { type Column, Listing, usePage } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { may } from '../session.ts'

type Enrolment = Schemas['Enrolment']

const kinds = { active: 'good', completed: 'good', stopped: 'idle' } as const

/** The contacts on their way through a sequence. */
export function Enrolments({ sequenceId, isActive }: { sequenceId: number; isActive: boolean }) {
  const path = { sequenceId }
  const enrolments = usePage(
    (query) => answerOf(api.GET('/api/v1/sequences/{sequenceId}/enrolments', { params: { path, query } })),
    [sequenceId],
  )
  useReload(enrolments, isActive)
  const stop = async (enrolment: Enrolment) => {
    const { contact_id: contactId } = enrolment
    const question = {
      title: 'Stop this enrolment?',
      text: (
        <p>
          <strong>{nameOf(enrolment)}</strong> gets no further step. If it is enrolled again, it begins with the first
          one.
        </p>
      ),
      action: 'Stop',
    }
    const call = () =>
      answerOf(
        api.DELETE('/api/v1/sequences/{sequenceId}/enrolments/{contactId}', {
          params: { path: { sequenceId, contactId } },
        }),
      )
    if (await confirmAndRun(question, call, 'The enrolment is stopped.')) enrolments.reload()
  }
  const enrol = async (email: string) => {
    const body = { contact_id: { email } }
    const call = () => answerOf(api.POST('/api/v1/sequences/{sequenceId}/enrolments', { params: { path }, body }))
    const isDone = await attempt(call, 'The contact is enrolled.')
    if (isDone) enrolments.reload()
    return isDone
  }
  return (
    <>
      {may('admin') && <EnrolForm enrol={enrol} />}
      <Listing
        of={enrolments}
        empty={<Empty title="No contact is enrolled." />}
        columns={columns}
        actions={(enrolment) =>
          enrolment.status === 'active' &&
          may('admin') && (
            <RowButton action="Stop" of={`the enrolment of ${nameOf(enrolment)}`} onClick={() => stop(enrolment)} />
          )
        }
      />
    </>
  )
}

/** Enrols one contact by hand. */
function EnrolForm({ enrol }: { enrol(email: string): Promise<boolean> }) {
  const submit = async (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = event.currentTarget
    const typed = () => textOf(new FormData(form), 'email')
    const email = typed()
    if ((await enrol(email)) && typed() === email) form.reset()
  }
  return (
    <form class="inline" onSubmit={submit}>
      <input
        {...addressInput}
        name="email"
        required
        aria-label="E-mail of a contact to enrol"
        placeholder="E-mail of a contact to enrol"
      />
      <button type="submit">Enrol</button>
    </form>
  )
}

/** Returns the address of the contact, or the id of an erased one. */
function nameOf({ contact_id, contact_email }: Enrolment): string {
  return contact_email ?? `contact ${contact_id}`
}

const columns: readonly Column<Enrolment>[] = [
  {
    title: 'Contact',
    cell: (enrolment) =>
      enrolment.contact_email === null ? (
        nameOf(enrolment)
      ) : (
        <a href={`/console/contacts/${enrolment.contact_id}`} data-row>
          {nameOf(enrolment)}
        </a>
      ),
  },
  {
    title: 'Status',
    cell: ({ status, reason }) => (
      <>
        <Badge kind={kinds[status]}>{status}</Badge> {reason}
      </>
    ),
  },
  { title: 'Next step', isTime: true, cell: ({ due_at }) => <Time at={due_at} none="none" /> },
]
