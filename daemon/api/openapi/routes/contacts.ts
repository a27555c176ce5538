import { inputLimits } from '../../../../lib/index.ts'
import { mediaTypes } from '../../routes/export.ts'
import { formatOf } from '../../upload.ts'
import { body, files, importFile, inQuery, noContent, optionalBody, page, paging, single } from '../answers.ts'
import type { DescribedRoutes, Parameter } from '../operation.ts'
import { arrayOf, id } from '../schema.ts'

const { maximum: _, ...anyId } = id

function idsIn(name: string, description: string): Parameter {
  return inQuery(name, description, { ...arrayOf(anyId), maxItems: inputLimits.values }, [1])
}

/** Inside one filter any value may match; different filters must all match. */
const filters: readonly Parameter[] = [
  idsIn('lists[]', 'On any of these lists.'),
  idsIn('tags[]', 'With any of these tags.'),
  idsIn('topics[]', 'Currently subscribed to any of these topics.'),
  inQuery(
    'search',
    'A part of name or e-mail address, taken literally, without regard to case.',
    { type: 'string' },
    'ada',
  ),
  inQuery('include_unsubscribed', 'Unsubscribed contacts, too; `1` and `0` are taken as well.', {
    type: 'boolean',
    default: false,
  }),
]

export const contacts: DescribedRoutes = {
  'GET /contacts': {
    name: 'listContacts',
    summary: 'List contacts',
    description: 'Inside one filter any value may match; different filters must all match.',
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
    summary: 'Create or match a contact, and put it on a list',
    description: 'Tags are added, attributes merge by key; someone unsubscribed stays so.',
    body: body('ContactInput'),
    answers: {
      200: single('ContactWithoutTopics', 'A contact of this e-mail address was there; this is how it is now.'),
      201: single('ContactWithoutTopics', 'A new contact.'),
    },
  },
  'PUT /contacts/:contactId': {
    name: 'updateContact',
    summary: 'Update a contact',
    description: 'What is absent stays; `tags` replaces the set, attributes merge by key.',
    body: optionalBody('ContactChange'),
    answers: { 200: single('ContactWithoutTopics', 'As it is now.') },
  },
  'POST /contacts/:contactId/unsubscribe': {
    name: 'unsubscribeContact',
    summary: 'Unsubscribe a contact',
    description: 'It receives no further mails. A second time keeps the first, and raises no event.',
    answers: { 200: single('Contact', 'As it is now.') },
  },
  'DELETE /lists/:listId/contacts/:contactId': {
    name: 'removeContactFromList',
    summary: 'Take a contact off a list',
    description: 'And out of the list’s topics; the contact stays. That it was not on the list is no error.',
    answers: { 200: single('ContactWithoutTopics', 'The contact, with the lists that remain.') },
  },
}

export const contactExtensions: DescribedRoutes = {
  'POST /lists/:listId/contacts/import': {
    name: 'importContacts',
    summary: 'Put the contacts of a file on a list',
    description:
      'CSV, whose first line names the columns, or a JSON object a line; of any length. Each row does what posting it to the list does; one that breaks a rule is refused, and the others are saved. What was saved before an error stays, and doing it again changes nothing.',
    body: importFile(formatOf.keys()),
    answers: { 200: single('ImportReport', 'What became of the rows.') },
  },
  'GET /contacts/export': {
    name: 'exportContacts',
    summary: 'All contacts as a file',
    description:
      'All that the listing has with the same filters. A fault on the way cuts the file off. In CSV attributes are JSON, and tags, lists and topics names.',
    query: [
      ...filters,
      inQuery('format', 'Without it `Accept` decides: CSV where it is asked for, else NDJSON.', {
        type: 'string',
        enum: Object.keys(mediaTypes),
      }),
    ],
    answers: {
      200: {
        description: 'A contact a line.',
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
    answers: { 200: single('Contact', 'As it is now.') },
  },
  'PUT /contacts/:contactId/topics/:topicId': {
    name: 'subscribeContactToTopic',
    summary: 'Subscribe a contact to a topic',
    description: 'The contact must be on the topic’s list.',
    refused: { topic_id: ["The contact is not on this topic's list."] },
    answers: { 200: single('Contact', 'As it is now.') },
  },
  'DELETE /contacts/:contactId/topics/:topicId': {
    name: 'unsubscribeContactFromTopic',
    summary: 'Unsubscribe a contact from a topic',
    answers: { 200: single('Contact', 'As it is now.') },
  },
}
