import { type Format, type ImportReport, type ImportRowResult, isMailkeepError } from '../../../lib/index.ts'
import type { Upload } from '../upload.ts'
import { mediaTypes } from './export.ts'
import { type AnswerDoc, type Call, listing, ok, paging, type QueryDoc, type Route, type RouteResult } from './route.ts'

/** Query parameters of an import, in the order of the library's messages. */
const importOptions: QueryDoc = {
  format: {
    description: 'Format of the file. Default: as `Content-Type` says.',
    schema: { type: 'string', enum: Object.keys(mediaTypes) },
  },
  map: {
    description:
      'Names of columns by field: `email`, `name`, `first_name`, `last_name`, `tags`, `status`, `unsubscribed_at`, `cleaned_at`, `blocklisted`, `unsubscribed_by_contact`, `created_at`, `attributes`, `extra_attributes`, `lists`, `topics`, or an attribute. Without it, the usual names are known.',
    schema: { type: 'object', additionalProperties: { type: 'string' } },
    style: 'deepObject',
    example: { email: 'Email Address' },
  },
  mode: {
    description:
      'What becomes of contacts that exist. `skip`: they stay as they are. `replace_tags`: the tags of the row replace theirs.',
    schema: { type: 'string', enum: ['merge', 'skip', 'replace_tags'], default: 'merge' },
  },
  status: {
    description: '`unsubscribed`: everybody in the file has unsubscribed. No event is raised.',
    schema: { type: 'string', enum: ['unsubscribed'] },
  },
  confirmed: {
    description:
      'Whether the contacts have confirmed elsewhere that they join the list, so that double opt-in is skipped. Only for admins.',
    schema: { type: 'boolean', default: false },
  },
  dry_run: {
    description: 'Whether every row is checked and nothing is stored. `1` and `0` are accepted too.',
    schema: { type: 'boolean', default: false },
  },
}

const rules =
  'The file is CSV with a header line, or has one JSON object per line. It may have any length. Invalid rows are refused, and the others are saved. If the import fails, the rows saved before stay. Repeating an import changes nothing. With `Accept: application/x-ndjson`, the answer begins at once and has the result of each row; an error of the file is then its last line. People whom the file says to have unsubscribed are stored as such, without events.'

const report: AnswerDoc = {
  record: 'ImportReport',
  rows: 'ImportRowResult',
  description: 'The numbers of created, updated and refused rows, or the result of each row.',
}

/** Beyond the contract: imports and their progress. */
export const importExtensions: readonly Route[] = [
  {
    method: 'POST',
    path: '/lists/:listId/contacts/import',
    role: 'member',
    name: 'importContacts',
    summary: 'Add the contacts of a file to a list',
    description: `${rules} Each row acts like a \`POST\` to the list.`,
    query: importOptions,
    body: 'file',
    answers: { 200: report },
    key: 'none',
    call: (call) => imported(call.params.listId, call),
  },
  {
    method: 'POST',
    path: '/contacts/import',
    role: 'member',
    name: 'restoreContacts',
    summary: 'Import the contacts of a file',
    description: `${rules} The contacts get the lists and topics that an export names, and no others.`,
    query: importOptions,
    body: 'file',
    answers: { 200: report },
    key: 'none',
    call: (call) => imported(null, call),
  },
  {
    method: 'GET',
    path: '/imports',
    role: 'viewer',
    name: 'listImports',
    summary: 'Imports with their progress, newest first',
    description: 'Imports are kept for 30 days.',
    query: paging,
    answers: { 200: { page: 'Import' } },
    call: async ({ client, query }) => listing(await client.imports.list(query)),
  },
  {
    method: 'GET',
    path: '/imports/:importId',
    role: 'viewer',
    name: 'getImport',
    summary: 'One import with its progress',
    description: 'The id is in the header `X-Import-Id` of the import’s answer. The progress is updated once a second.',
    answers: { 200: { record: 'Import', description: 'The import.' } },
    call: async ({ client, params }) => ok(await client.imports.get(params.importId)),
  },
]

async function imported(listId: number | null, call: Call): Promise<RouteResult> {
  if (/\b(?:x-)?ndjson\b/i.test(call.accept)) return await rowByRow(listId, call)
  let id = 0
  const onStart = (importId: number) => {
    id = importId
  }
  return { ...ok(await runImport(listId, call, { onStart })), headers: headersOf(id) }
}

function headersOf(importId: number): Record<string, string> {
  return { 'X-Import-Id': String(importId) }
}

interface Callbacks {
  readonly onStart: (importId: number) => void
  readonly onResults?: (results: readonly ImportRowResult[]) => Promise<void>
}

function runImport(
  listId: number | null,
  { client, query, upload }: Call,
  callbacks: Callbacks,
  source: Upload['source'] = upload!.source,
): Promise<ImportReport> {
  const format: Format = upload!.format
  return client.contacts.import(listId, source, { format, ...query, ...callbacks })
}

/** Answers as soon as the file is being read. A client that does not read the results delays the import. */
async function rowByRow(listId: number | null, call: Call): Promise<RouteResult> {
  const { readable, writable } = new TransformStream<string, string>()
  const writer = writable.getWriter()
  let begin = () => {}
  const began = new Promise<void>((resolve) => {
    begin = resolve
  })
  let id = 0
  const onStart = (importId: number) => {
    id = importId
  }
  const onResults = (results: readonly ImportRowResult[]) => writer.write(results.map(lineOf).join(''))
  const running = runImport(listId, call, { onStart, onResults }, announced(call.upload!.source, begin))
  const ended = running.then(
    () => writer.close(),
    (error) => writeError(writer, error),
  )
  ended.catch(() => {}) // the client has disconnected
  await Promise.race([began, running])
  const text = readable as unknown as AsyncIterable<string>
  const contentType = `${mediaTypes.ndjson}; charset=utf-8`
  return { status: 200, download: { contentType, text }, headers: headersOf(id) }
}

/** Calls `begin` when the source is read first, which also asks a waiting client for the body. */
async function* announced(source: Upload['source'], begin: () => void): Upload['source'] & AsyncGenerator<Uint8Array> {
  begin()
  yield* source
}

function lineOf({ line, status, id, errors }: ImportRowResult): string {
  return `${JSON.stringify({ line, status, id, errors })}\n`
}

/** An error of the file is the last line. Any other error cuts the answer off, and is logged. */
async function writeError(writer: WritableStreamDefaultWriter<string>, error: unknown): Promise<void> {
  const isOfFile = isMailkeepError(error) && /^(?:validation_failed|invalid_json|not_found)$/.test(error.code)
  if (!isOfFile) return await writer.abort(error)
  const { code, message, errors } = error
  await writer.write(`${JSON.stringify({ error: { code, message, errors } })}\n`)
  await writer.close()
}
