/** Finds out which column of a file is which field of a contact. */
import { type FieldErrors, invalid, MailkeepError } from '../../errors.ts'
import { inputLimits } from '../../limits.ts'

/** Fields of a row that are no input of `addToList`. See `row-state.ts`. */
const stateFields = [
  'first_name',
  'last_name',
  'status',
  'unsubscribed_at',
  'cleaned_at',
  'blocklisted',
  'unsubscribed_by_contact',
  'created_at',
  'attributes',
  'extra_attributes',
  'lists',
  'topics',
] as const
/** `subscribed_at` only in exports of Mailcoach: without it, and without `unsubscribed_at`, the person is unconfirmed. */
type StateField = (typeof stateFields)[number] | 'subscribed_at'

/** Where the cells of a column go: an input of `addToList`, the row's state, or nowhere. */
export type Column =
  | { readonly kind: 'input'; readonly name: string }
  | { readonly kind: 'state'; readonly name: StateField }
  | { readonly kind: 'ignored' }

/** Names of columns by field, as the caller passes them. */
export type ColumnMap = Readonly<Record<string, string>>

/** A row with this field comes from an export of mailkeep or Mailcoach. */
const exportMarkerField = 'extra_attributes'

/** The file that `--refused` writes has these columns, and can be imported again. */
const refusedColumns = ['refused_line', 'refused_reason'] as const

const ignored: Column = { kind: 'ignored' }

/**
 * The usual names of each field, compared without case, spaces and underscores. The first name that a file has wins.
 * They cover the exports of Mailchimp ("Email Address", UNSUB_TIME), Brevo (FIRSTNAME, EMAIL_BLACKLISTED), listmonk and
 * Mailcoach.
 */
const usualNames: readonly (readonly [field: string, names: readonly string[]])[] = [
  ['email', ['email', 'emailaddress', 'e-mail', 'e-mailaddress']],
  ['name', ['name', 'fullname']],
  ['first_name', ['firstname', 'fname']],
  ['last_name', ['lastname', 'lname']],
  ['tags', ['tags']],
  ['status', ['status']],
  ['unsubscribed_at', ['unsubscribedat', 'unsubtime']],
  ['cleaned_at', ['cleantime']],
  ['blocklisted', ['emailblacklisted', 'emailblocklisted', 'emailblacklist', 'blacklisted', 'blocklisted']],
]

/** Further columns of exports, by a column that only these have. */
const exportColumns = {
  /** Columns of mailkeep's files. Mailcoach's files have some of them. */
  extraattributes: {
    fields: ['extra_attributes', 'unsubscribed_by_contact', 'lists', 'topics', 'created_at'],
    ignored: ['id', 'uuid'],
  },
  /** Columns of listmonk's files. */
  attributes: { fields: ['attributes', 'created_at'], ignored: ['uuid', 'updatedat'] },
} as const

function normalized(name: string): string {
  return name.toLowerCase().replace(/[\s_]+/g, '')
}

/** Whether the file that `--refused` writes has this column. */
export function isRefusedColumn(name: string): boolean {
  return refusedColumns.some((column) => normalized(column) === normalized(name))
}

function columnOf(field: string): Column {
  return (stateFields as readonly string[]).includes(field)
    ? { kind: 'state', name: field as StateField }
    : { kind: 'input', name: field }
}

/**
 * Maps the columns of a CSV file.
 *
 * @throws MailkeepError `validation_failed`: a column is missing, has no name, or is there twice.
 */
export function columnsOf(cells: readonly string[], map: ColumnMap): Column[] {
  if (cells.length > inputLimits.fields) throw invalid('body', `At most ${inputLimits.fields} columns.`)
  const names = cells.map((cell) => cell.trim())
  const nameless = names.indexOf('') + 1
  if (nameless > 0) {
    throw invalid('body', `Column ${nameless} has no name. Found: ${foundNames(names)}. Name it, or delete the column.`)
  }
  const columns: (Column | undefined)[] = mappedColumns(names, map)
  // The file of refused rows has their cells by name.
  const repeated = names.find((name, at) => names.indexOf(name) < at)
  if (repeated !== undefined) throw twice(repeated)
  const keys = names.map(normalized)
  const take = (name: string, column: Column) => {
    const found = keys.flatMap((key, at) => (key === name && !columns[at] ? [at] : []))
    if (found.length > 1) throw twice(names[found[1]!]!)
    for (const at of found) columns[at] = column
    return found.length > 0
  }
  const isTaken = (field: string) => columns.some((column) => column && 'name' in column && column.name === field)
  for (const [field, usual] of usualNames) {
    if (isTaken(field) || (field.endsWith('t_name') && isTaken('name'))) continue
    usual.some((name) => take(name, columnOf(field)))
  }
  const product = keys.includes('extraattributes') ? 'extraattributes' : isListmonk(keys) ? 'attributes' : undefined
  if (product) {
    for (const field of exportColumns[product].fields) if (!isTaken(field)) take(normalized(field), columnOf(field))
    for (const name of exportColumns[product].ignored) take(name, ignored)
    if (product === 'extraattributes') take('subscribedat', { kind: 'state', name: 'subscribed_at' })
  }
  for (const name of refusedColumns) take(normalized(name), ignored)
  const all = columns.map((column, at): Column => column ?? { kind: 'input', name: names[at]! })
  requireDistinct(all)
  if (!all.some(({ kind, ...rest }) => kind === 'input' && 'name' in rest && rest.name === 'email')) {
    throw invalid('body', missingEmail(names))
  }
  return all
}

/** Whether these are the columns of an export of listmonk, or exactly those of the files that it imports. */
function isListmonk(keys: readonly string[]): boolean {
  const isExport = ['uuid', 'attributes', 'status'].every((name) => keys.includes(name))
  const own = keys.filter((key) => !isRefusedColumn(key))
  return isExport || own.sort().join() === 'attributes,email,name'
}

/** @throws MailkeepError `validation_failed` on `map.…`: the file has no such column, or two fields name the same one. */
function mappedColumns(names: readonly string[], map: ColumnMap): (Column | undefined)[] {
  const columns: (Column | undefined)[] = new Array(names.length).fill(undefined)
  const errors: FieldErrors = {}
  for (const [field, wanted] of Object.entries(map)) {
    const exact = names.indexOf(wanted.trim())
    const at = exact >= 0 ? exact : names.findIndex((name) => normalized(name) === normalized(wanted))
    if (at < 0) errors[`map.${field}`] = [`The file has no column ${shown(wanted)}. Found: ${foundNames(names)}.`]
    else if (columns[at]) errors[`map.${field}`] = [`The column ${shown(wanted)} is mapped to another field already.`]
    else columns[at] = columnOf(field)
  }
  const messages = Object.values(errors).flat()
  if (messages.length > 0) throw new MailkeepError('validation_failed', messages[0]!, { errors })
  return columns
}

function requireDistinct(columns: readonly Column[]): void {
  const seen = new Set<string>()
  for (const column of columns) {
    if (column.kind !== 'input') continue
    if (seen.has(column.name)) throw twice(column.name)
    seen.add(column.name)
  }
}

function twice(name: string): MailkeepError {
  return invalid('body', `Two columns have the name ${shown(name)}. Rename one of them, or delete it.`)
}

/** Returns the error for a missing email column. The message omits cells that may be personal data. */
function missingEmail(names: readonly string[]): string {
  if (names.some((name) => name.includes('@'))) {
    return "The first line must name the columns: it has an e-mail address instead of the columns' names."
  }
  return `No column for the email address. Found: ${foundNames(names)}. Pass map[email]=COLUMN (on the command line --map email=COLUMN).`
}

const maxShownColumns = 10

function foundNames(names: readonly string[]): string {
  if (names.some((name) => name.includes('@'))) return 'an e-mail address instead of names'
  const more = names.length > maxShownColumns ? [`${names.length - maxShownColumns} more`] : []
  return [...names.slice(0, maxShownColumns).map(shown), ...more].join(', ')
}

function shown(name: string): string {
  return JSON.stringify(name.slice(0, 50))
}

/** Fields of a line of NDJSON that are never attributes. In an export, all fields of the contact are known. */
const stateOfLine: ReadonlySet<string> = new Set(['status', 'unsubscribed_at'])
const stateOfExport: ReadonlySet<string> = new Set(['unsubscribed_at', ...exportColumns.extraattributes.fields])
const ignoredOfLine: ReadonlySet<string> = new Set(refusedColumns)
const ignoredOfExport: ReadonlySet<string> = new Set([...exportColumns.extraattributes.ignored, ...refusedColumns])
const specialNames = [...stateOfLine, ...refusedColumns]

/** Returns the mapping of a line of NDJSON to the parts of a row. Names are compared exactly, unless they are mapped. */
export function fieldReader(map: ColumnMap): (line: unknown) => { input: unknown; state?: RowState } {
  const mapped = new Map(Object.entries(map).map(([field, name]) => [normalized(name), columnOf(field)]))
  return (line) => {
    if (typeof line !== 'object' || line === null || Array.isArray(line)) return { input: line }
    const isExport = Object.hasOwn(line, exportMarkerField)
    const isPlain = !isExport && mapped.size === 0 && !specialNames.some((name) => Object.hasOwn(line, name))
    if (isPlain) return { input: line }
    const [input, state] = [[] as [string, unknown][], {} as Record<string, unknown>]
    for (const [name, value] of Object.entries(line)) {
      const column = mapped.size > 0 ? mapped.get(normalized(name)) : undefined
      const isState = isExport ? stateOfExport.has(name) : stateOfLine.has(name)
      if (column?.kind === 'state') state[column.name] = value
      else if (column?.kind === 'input') input.push([column.name, value])
      else if (isState) state[name] = value
      else if (!(isExport ? ignoredOfExport : ignoredOfLine).has(name)) input.push([name, value])
    }
    return { input: Object.fromEntries(input), state }
  }
}

/** The values of a row that are no input of `addToList`, as the file has them. */
export type RowState = Readonly<Partial<Record<StateField, unknown>>>
