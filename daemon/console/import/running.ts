/**
 * The import of this tab. It continues while other pages are open, and until the user has signed in again after the API
 * ended the session. It ends when the user signs out, and with a token of another client.
 */
import { effect, signal } from '@preact/signals'
import { api, authorized, dataOf, errorOf, RequestError, type Schemas } from '../api.ts'
import { asRequestError } from '../parts/load.tsx'
import { sessionNumber } from '../session.ts'
import { countLines, formatOf } from './file.ts'

export interface Options {
  /** Undefined: the file names the lists. */
  readonly listId: number | undefined
  readonly mode: string
  readonly isUnsubscribed: boolean
  readonly isDryRun: boolean
  /** Names of columns by field, of columns that are not recognised by their names. */
  readonly columns: Readonly<Record<string, string>>
}

export interface Running {
  readonly file: File
  readonly isDryRun: boolean
  readonly listId: number | undefined
  /** The fields of the form that started it. */
  readonly fields: FormData
  /** Imports the file of a dry run with the same options. */
  readonly importNow: (() => Promise<void>) | undefined
  readonly startedMs: number
  /** Estimated number of rows. */
  readonly total: number
  readonly rows: number
  readonly report?: Schemas['ImportReport']
  readonly error?: unknown
}

export const running = signal<Running | undefined>(undefined)

/** Removes the report of a dry run, because the options of the import have changed since. */
export function dropDryRun(): void {
  if (running.value?.isDryRun && running.value.report) running.value = undefined
}

let session = new AbortController()

effect(() => {
  void sessionNumber.value
  running.value = undefined
  session.abort()
  session = new AbortController()
})

const pollMs = 1000

/** Sends the file, and asks for the progress until the answer is here. */
export async function startImport(
  file: File,
  options: Options,
  form: Pick<Running, 'fields' | 'importNow'>,
): Promise<void> {
  const [total, [previous]] = await Promise.all([countLines(file).catch(refuseFile), newestImports()])
  const { isDryRun, listId } = options
  const { signal: ended } = session
  let current: Running = { file, isDryRun, listId, ...form, startedMs: Date.now(), total, rows: 0 }
  const show = (change: Partial<Running>) => {
    if (ended.aborted) return
    current = { ...current, ...change }
    running.value = current
  }
  show({})
  let ownId: number | undefined
  /** Another tab may start an import, too. The answer has the id, but comes at the end. */
  const loadOwn = async () => {
    if (ownId !== undefined) {
      return await dataOf(api.GET('/api/v1/imports/{importId}', { params: { path: { importId: ownId } } }))
    }
    const own = (await newestImports()).findLast(
      ({ id, list_id, dry_run }) => id > (previous?.id ?? 0) && list_id === (listId ?? null) && dry_run === isDryRun,
    )
    ownId = own?.id
    return own
  }
  const polling = setInterval(() => {
    loadOwn().then(
      (own) => own && current.report === undefined && show({ rows: own.rows }),
      () => {}, // the import itself reports the error
    )
  }, pollMs)
  addEventListener('beforeunload', askBeforeClosing)
  try {
    const report = await send(file, options, ended)
    show({ rows: report.total, report })
  } catch (error) {
    show({ error: asRequestError(error) })
  } finally {
    clearInterval(polling)
    removeEventListener('beforeunload', askBeforeClosing)
  }
}

/** A tab that is closed or loaded again sends no more rows, and shows no report. */
function askBeforeClosing(event: BeforeUnloadEvent): void {
  event.preventDefault()
}

/** The browser does not read a file that was changed after it was chosen. */
function refuseFile(): never {
  throw new RequestError(
    'The file cannot be read. It may have changed since it was chosen. Choose it again.',
    'no_file',
  )
}

async function send(file: File, options: Options, ended: AbortSignal): Promise<Schemas['ImportReport']> {
  const { listId, mode, isUnsubscribed, isDryRun, columns } = options
  const query = new URLSearchParams({ format: formatOf(file), mode, dry_run: String(isDryRun) })
  if (isUnsubscribed) query.set('status', 'unsubscribed')
  for (const [field, column] of Object.entries(columns)) query.set(`map[${field}]`, column)
  const path = listId === undefined ? '/contacts/import' : `/lists/${listId}/contacts/import`
  const type = formatOf(file) === 'csv' ? 'text/csv' : 'application/x-ndjson'
  const request = new Request(`${location.origin}/api/v1${path}?${query}`, {
    method: 'POST',
    headers: { 'Content-Type': type, Accept: 'application/json' },
    body: file,
    signal: ended,
  })
  const response = await authorized(request)
  const text = await response.text()
  if (!response.ok) throw errorOf(response, parsed(adviceOfPage(text)))
  return JSON.parse(text).data
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined // of a proxy
  }
}

/** Replaces what messages of the API advise by what the page offers. */
function adviceOfPage(text: string): string {
  return text
    .replaceAll(/Pass map\[email\][^)]*\)/g, 'Choose it in “Columns with other names” above')
    .replaceAll(/Pass format=ndjson[^)]*\)/g, 'Give it a name that ends in .ndjson')
}

/** Returns the imports of the client, newest first. */
async function newestImports(): Promise<Schemas['Import'][]> {
  return await dataOf(api.GET('/api/v1/imports', { params: { query: { per_page: 20 } } }))
}
