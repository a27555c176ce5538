import { messageStatuses } from '../../../lib/index.ts'
import { created, deleted, listing, noContent, ok, paging, type Route } from './route.ts'

/** Beyond the contract. */
export const sequenceExtensions: readonly Route[] = [
  {
    method: 'GET',
    path: '/sequences',
    role: 'viewer',
    name: 'listSequences',
    summary: 'List sequences',
    description: 'Without their steps.',
    query: paging,
    answers: { 200: { page: 'SequenceSummary' } },
    call: async ({ client, query }) => listing(await client.sequences.list(query)),
  },
  {
    method: 'POST',
    path: '/sequences',
    role: 'admin',
    name: 'createSequence',
    summary: 'Create a sequence',
    description: 'Contacts who are added to its list from now on are enrolled.',
    body: 'SequenceInput',
    answers: { 201: { record: 'Sequence', description: 'The sequence was created.' } },
    call: async ({ client, body }) => created(await client.sequences.create(body)),
  },
  {
    method: 'GET',
    path: '/sequences/:sequenceId',
    role: 'viewer',
    name: 'getSequence',
    summary: 'One sequence with its steps',
    answers: { 200: { record: 'Sequence', description: 'The sequence.' } },
    large: true,
    call: async ({ client, params }) => ok(await client.sequences.get(params.sequenceId)),
  },
  {
    method: 'PATCH',
    path: '/sequences/:sequenceId',
    role: 'admin',
    name: 'updateSequence',
    summary: 'Change, pause or activate a sequence',
    description: 'Absent fields stay unchanged. While it is paused, nothing is sent and its list enrols no contact.',
    body: 'SequenceChange',
    answers: { 200: { record: 'Sequence', description: 'The sequence after the change.' } },
    call: async ({ client, params, body }) => ok(await client.sequences.update(params.sequenceId, body)),
  },
  {
    method: 'POST',
    path: '/sequences/:sequenceId/resume',
    role: 'admin',
    name: 'resumeSequence',
    summary: 'Resume a sequence',
    description:
      'A paused sequence becomes active. With `uncertain` also one that is active: its messages whose outcome is not known are skipped, or sent again.',
    body: 'ResumeInput',
    answers: { 200: { record: 'Sequence', description: 'The sequence after the change.' } },
    call: async ({ client, params, body }) => ok(await client.sequences.resume(params.sequenceId, body)),
  },
  {
    method: 'DELETE',
    path: '/sequences/:sequenceId',
    role: 'admin',
    name: 'deleteSequence',
    summary: 'Delete a sequence',
    description: 'With its steps, enrolments and messages.',
    answers: { 204: deleted },
    call: async ({ client, params }) => {
      await client.sequences.delete(params.sequenceId)
      return noContent
    },
  },
  {
    method: 'PUT',
    path: '/sequences/:sequenceId/steps',
    role: 'admin',
    name: 'setSteps',
    summary: 'Replace the steps of a sequence',
    description:
      'Steps with an `id` stay. A new step is sent to the contacts who are not past its place. A removed step is left out. ' +
      'If no step has an `id`, the steps match the stored ones by their positions: the first stays the first.',
    body: 'StepsInput',
    answers: { 200: { record: 'Sequence', description: 'The sequence with its steps.' } },
    call: async ({ client, params, body }) => ok(await client.sequences.setSteps(params.sequenceId, body)),
  },
  {
    method: 'POST',
    path: '/sequences/:sequenceId/preview',
    role: 'member',
    name: 'previewStep',
    summary: 'Render a step for a contact',
    description: 'The step need not be stored. Sends and stores nothing.',
    body: 'StepPreviewInput',
    answers: { 200: { record: 'Preview', description: 'The step as the contact would get it.' } },
    call: async ({ client, params, body }) => ok(await client.sequences.preview(params.sequenceId, body)),
  },
  {
    method: 'GET',
    path: '/sequences/:sequenceId/messages',
    role: 'viewer',
    name: 'listMessagesOfSequence',
    summary: 'List the messages of a sequence',
    query: {
      ...paging,
      status: { description: 'Only messages with this status.', schema: { type: 'string', enum: messageStatuses } },
    },
    answers: { 200: { page: 'Message' } },
    call: async ({ client, params, query }) => listing(await client.sequences.messages(params.sequenceId, query)),
  },
  {
    method: 'GET',
    path: '/sequences/:sequenceId/enrolments',
    role: 'viewer',
    name: 'listEnrolments',
    summary: 'List the contacts of a sequence',
    query: paging,
    answers: { 200: { page: 'Enrolment' } },
    call: async ({ client, params, query }) => listing(await client.sequences.enrolments(params.sequenceId, query)),
  },
  {
    method: 'POST',
    path: '/sequences/:sequenceId/enrolments',
    role: 'admin',
    name: 'enrolContact',
    summary: 'Enrol a contact',
    description: 'An enrolment that has ended begins again. One that is active stays as it is.',
    body: 'EnrolmentInput',
    answers: { 201: { record: 'Enrolment', description: 'The enrolment.' } },
    call: async ({ client, params, body }) => created(await client.sequences.enrol(params.sequenceId, body)),
  },
  {
    method: 'DELETE',
    path: '/sequences/:sequenceId/enrolments/:contactId',
    role: 'admin',
    name: 'stopEnrolment',
    summary: 'Stop the enrolment of a contact',
    answers: { 204: { description: 'The enrolment has ended.' } },
    call: async ({ client, params: { sequenceId, contactId } }) => {
      await client.sequences.stop(sequenceId, contactId)
      return noContent
    },
  },
]
