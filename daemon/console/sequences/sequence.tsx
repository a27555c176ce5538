import { useState } from 'preact/hooks'
import { answerOf, api, dataOf, type Schemas } from '../api.ts'
import { Messages } from '../newsletters/messages.tsx'
import { Sender } from '../newsletters/sender-field.tsx'
import { confirmAndRun } from '../parts/dialog.tsx'
import { changedFrom } from '../parts/form.tsx'
import { useLoad } from '../parts/load.tsx'
import { attempt } from '../parts/notice.tsx'
import { Later, Page, useOpenView, useQuery } from '../parts/page.tsx'
import { RecordPage, useRecordId } from '../parts/record.tsx'
import { may } from '../session.ts'
import { Enrolments } from './enrolments.tsx'
import { SequenceDialog } from './sequence-dialog.tsx'
import { SequenceStatus, TriggerList } from './sequences.tsx'
import { Steps } from './steps.tsx'

type Sequence = Schemas['Sequence']

const back = { href: '/console/sequences', text: 'Sequences' }

export function SequencePage() {
  const sequenceId = useRecordId('sequenceId')
  const path = { params: { path: { sequenceId } } }
  const sequence = useLoad(() => dataOf(api.GET('/api/v1/sequences/{sequenceId}', path)), [sequenceId])
  return (
    <RecordPage of={sequence} id={sequenceId} noun="Sequence" back={back}>
      {(value) => <SequenceView sequence={value} set={sequence.set} />}
    </RecordPage>
  )
}

function SequenceView({ sequence, set }: { sequence: Sequence; set(sequence: Sequence): void }) {
  const openView = useOpenView()
  const { id, status, list_id, from_identity_id } = sequence
  const [query] = useQuery()
  const [isEditing, setEditing] = useState(false)
  const list = useLoad(
    async () =>
      list_id === null
        ? undefined
        : await dataOf(api.GET('/api/v1/lists/{listId}', { params: { path: { listId: list_id } } })),
    [list_id],
  )
  const path = { params: { path: { sequenceId: id } } }
  const next = status === 'active' ? 'paused' : 'active'
  const change = async (body: Schemas['SequenceChange']) =>
    set(await dataOf(api.PATCH('/api/v1/sequences/{sequenceId}', { ...path, body })))
  const changeStatus = () =>
    attempt(() => change({ status: next }), next === 'active' ? 'The sequence is active.' : 'The sequence is paused.')
  const skipOrResend = async (uncertain: 'skip' | 'resend') =>
    set(await dataOf(api.POST('/api/v1/sequences/{sequenceId}/resume', { ...path, body: { uncertain } })))
  const remove = async () => {
    const question = {
      title: 'Delete this sequence?',
      text: <p>Its enrolments and messages are deleted, too. This cannot be undone.</p>,
      action: 'Delete',
    }
    const call = () => answerOf(api.DELETE('/api/v1/sequences/{sequenceId}', path))
    if (await confirmAndRun(question, call, 'The sequence is deleted.')) openView(back.href)
  }
  return (
    <Page
      title={sequence.name}
      back={back}
      actions={
        may('admin') && (
          <>
            <button type="button" class="primary" onClick={changeStatus}>
              {status === 'active' ? 'Pause' : 'Resume'}
            </button>
            <button type="button" onClick={() => setEditing(true)}>
              Edit
            </button>
            <button type="button" class="danger" onClick={remove}>
              Delete
            </button>
          </>
        )
      }
    >
      <dl class="facts">
        <dt>Status</dt>
        <dd>
          <SequenceStatus status={status} />
        </dd>
        <dt>List</dt>
        <dd>
          <TriggerList id={list_id} lists={list.value && [list.value]} />
        </dd>
        <dt>From</dt>
        <dd>
          <Sender id={from_identity_id} />
        </dd>
        {sequence.reply_to && (
          <>
            <dt>Reply to</dt>
            <dd>{sequence.reply_to}</dd>
          </>
        )}
      </dl>
      {isEditing && (
        <SequenceDialog
          title="Edit the sequence"
          action="Save"
          sequence={sequence}
          close={() => setEditing(false)}
          save={(settings) => change(changedFrom(sequence, settings))}
        />
      )}
      <Steps sequence={sequence} set={set} />
      <Later title="Enrolments" isOpen={query.cursor !== undefined}>
        <Enrolments sequenceId={id} isActive={status === 'active'} />
      </Later>
      <Later title="Messages" isOpen={query.messages !== undefined || query.status !== undefined}>
        <Messages
          version={`${id} ${status}`}
          isActive={status === 'active'}
          list={(query) =>
            answerOf(
              api.GET('/api/v1/sequences/{sequenceId}/messages', { params: { path: { sequenceId: id }, query } }),
            )
          }
          {...(may('admin') && {
            uncertain: { skipOrResend, paused: status === 'paused' ? 'sequence' : undefined },
          })}
        />
      </Later>
    </Page>
  )
}
