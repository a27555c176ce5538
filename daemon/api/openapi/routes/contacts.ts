import { inputLimits } from '../../../../lib/index.ts'
import { mediaTypes } from '../../routes/export.ts'
import { formatOf } from '../../upload.ts'
import { body, files, importFile, inQuery, noContent, optionalBody, page, paging, single } from '../answers.ts'
import type { Parameter, RouteDocs } from '../operation.ts'
import { arrayOf, id } from '../schema.ts'

const { maximum: _, ...anyId } = id

function idsIn(name: string, description: string): Parameter {
  return inQuery(name, description, { ...arrayOf(anyId), maxItems: inputLimits.values }, [1])
}

/** Filters of the listing and of the export. */
const filters: readonly Parameter[] = [
  idsIn('lists[]', 'On any of these lists.'),
  idsIn('tags[]', 'With any of these tags.'),
  idsIn('topics[]', 'Currently subscribed to any of these topics.'),
  inQuery(
    'search',
    'Substring of the name or e-mail address, without regard to case or wildcards.',
    { type: 'string' },
    'ada',
  ),
  inQuery('include_unsubscribed', 'Whether to include unsubscribed contacts. `1` and `0` are accepted too.', {
    type: 'boolean',
    default: false,
  }),
]

export const contacts: RouteDocs = {
  'GET /contacts': {
    name: 'listContacts',
    summary: 'List contacts',
    description: 'A contact must match every filter. For a filter with several values, one match is enough.',
    query: [...filters, ...paging],
    answers: { 200: page('Contact', '/contacts') },
  },
  'GET /contacts/:contactId': {
    name: 'getContact',
    summary: 'One contact, with tags, lists and topics',
    answers: { 200: single('Contact', 'The contact.') },
  },
  'POST /lists/:listId/contacts': {
    name: 'addContactToList',
    summary: 'Create or match a contact, and add it to a list',
    description: 'Tags are added, and attributes are merged by key. An unsubscribed contact stays unsubscribed.',
    body: body('ContactInput'),
    answers: {
      200: single('ContactWithoutTopics', 'The contact existed already. The answer shows it after the change.'),
      201: single('ContactWithoutTopics', 'The contact was created.'),
    },
  },
  'PUT /contacts/:contactId': {
    name: 'updateContact',
    summary: 'Update a contact',
    description: 'Absent fields stay unchanged. `tags` replaces all tags, and attributes are merged by key.',
    body: optionalBody('ContactChange'),
    answers: { 200: single('ContactWithoutTopics', 'The contact after the change.') },
  },
  'POST /contacts/:contactId/unsubscribe': {
    name: 'unsubscribeContact',
    summary: 'Unsubscribe a contact',
    description:
      'The contact receives no further mails. Repeating the request keeps the first time and raises no event.',
    answers: { 200: single('Contact', 'The contact after the change.') },
  },
  'DELETE /lists/:listId/contacts/:contactId': {
    name: 'removeContactFromList',
    summary: 'Remove a contact from a list',
    description:
      'Also removes the contact from the list’s topics. The contact itself stays. It is no error if it was not on the list.',
    answers: { 200: single('ContactWithoutTopics', 'The contact, with its remaining lists.') },
  },
}

export const contactExtensions: RouteDocs = {
  'POST /lists/:listId/contacts/import': {
    name: 'importContacts',
    summary: 'Add the contacts of a file to a list',
    description:
      'The file is CSV with a header line, or has one JSON object per line. It may have any length. Each row acts like a `POST` to the list. Invalid rows are refused, and the others are saved. If the import fails, the rows saved before stay. Repeating an import changes nothing.',
    body: importFile(formatOf.keys()),
    answers: { 200: single('ImportReport', 'The numbers of created, updated and refused rows.') },
  },
  'GET /contacts/export': {
    name: 'exportContacts',
    summary: 'Export contacts as a file',
    description:
      'Has the same contacts as the listing with the same filters. An error during the export cuts the file off. In CSV, attributes are JSON, and tags, lists and topics are names.',
    query: [
      ...filters,
      inQuery('format', 'Default: CSV if `Accept` names it and not NDJSON, otherwise NDJSON.', {
        type: 'string',
        enum: Object.keys(mediaTypes),
      }),
    ],
    answers: {
      200: {
        description: 'One contact per line.',
        content: files(Object.values(mediaTypes), true),
        headers: ['Content-Disposition'],
      },
    },
  },
  'DELETE /contacts/:contactId': {
    name: 'eraseContact',
    summary: 'Erase a contact and every stored copy of its data',
    answers: { 204: noContent },
  },
  'POST /contacts/:contactId/resubscribe': {
    name: 'resubscribeContact',
    summary: 'Subscribe a contact again',
    answers: { 200: single('Contact', 'The contact after the change.') },
  },
  'PUT /contacts/:contactId/topics/:topicId': {
    name: 'subscribeContactToTopic',
    summary: 'Subscribe a contact to a topic',
    description: 'The contact must be on the topic’s list.',
    refused: { topic_id: ["The contact is not on this topic's list."] },
    answers: { 200: single('Contact', 'The contact after the change.') },
  },
  'DELETE /contacts/:contactId/topics/:topicId': {
    name: 'unsubscribeContactFromTopic',
    summary: 'Unsubscribe a contact from a topic',
    answers: { 200: single('Contact', 'The contact after the change.') },
  },
}
