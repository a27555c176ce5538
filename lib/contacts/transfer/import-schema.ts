import * as v from 'valibot'
import { type AbortInput, abortField } from '../../abort.ts'
import type { FieldErrors } from '../../errors.ts'
import { inputLimits } from '../../limits.ts'
import { closedObject, isRecord, QueryBoolean, valuesByName } from '../../parse.ts'
import type { ColumnMap } from './columns.ts'
import { type Format, formatField } from './row.ts'
import { type ImportMode, importModes } from './steps.ts'

/** A source of bytes or text. */
export type Chunks = AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>

/** A row that was not imported. */
export interface RefusedRow {
  /** Number of the row's last line in the file, from 1. */
  line: number
  /** Messages by field, as in errors of `addToList`. The field is `row` when the row cannot be parsed. */
  errors: FieldErrors
}

/** The result of an import. */
export interface ImportReport {
  /** Number of rows read. Empty lines do not count. */
  total: number
  /** Number of new contacts. */
  created: number
  /** Number of rows whose contact already existed. */
  updated: number
  refused: number
  /** Rows whose contact already existed. Only with `mode: 'skip'`; then they do not count as updated. */
  skipped?: number
  /** Only in a dry run: nothing was stored. */
  dry_run?: true
  /** The first refused rows, up to 1 MiB of JSON. */
  refused_rows: RefusedRow[]
}

/** The result of one row of an import. */
export interface ImportRowResult {
  /** Number of the row's last line in the file, from 1. */
  line: number
  status: 'created' | 'updated' | 'skipped' | 'refused'
  /** The contact. A dry run has none for new contacts. */
  id?: number
  errors?: FieldErrors
  /**
   * A refused row as the file has it. CSV: the cells by column, null for a missing cell, and an array of the cells beyond
   * the columns as `''`. NDJSON: the value of the line, or its text if it is not JSON.
   */
  row?: unknown
}

export interface ImportInput extends AbortInput {
  readonly format: Format
  /**
   * Names of columns by field: `email`, `name`, `first_name`, `last_name`, `tags`, `status`, `unsubscribed_at`,
   * `cleaned_at`, `blocklisted`, `unsubscribed_by_contact`, `created_at`, `attributes`, `extra_attributes`, `lists`,
   * `topics`, or an attribute's name.
   */
  readonly map?: ColumnMap | undefined
  /**
   * What becomes of contacts that exist. `merge`, the default: as in `addToList`. `skip`: they stay as they are.
   * `replace_tags`: the row's tags replace theirs; an empty cell removes all.
   */
  readonly mode?: ImportMode | undefined
  /** `unsubscribed`: everybody in the file has unsubscribed. */
  readonly status?: 'unsubscribed' | undefined
  /**
   * Whether the contacts have confirmed elsewhere that they join the list, so that double opt-in is skipped. Only for
   * admins. Default false.
   */
  readonly confirmed?: boolean | '1' | '0' | 'true' | 'false' | undefined
  /** Checks every row and stores nothing; default false. */
  readonly dry_run?: boolean | '1' | '0' | 'true' | 'false' | undefined
  /** Called before the source is read, with the id for `imports.get`. */
  readonly onStart?: ((importId: number) => unknown) | undefined
  /** Called after each batch of rows, with the counts so far. The import continues when it resolves. */
  readonly onProgress?: ((counts: ImportCounts) => unknown) | undefined
  /** Called after each batch with the result of each row. The import continues when it resolves. */
  readonly onResults?: ((results: readonly ImportRowResult[]) => void | Promise<void>) | undefined
}

/** Progress of an import. */
export interface ImportCounts {
  /** Rows read so far. */
  readonly total: number
  readonly created: number
  readonly updated: number
  readonly refused: number
}

function functionField<F>() {
  return v.optional(v.custom<F>((value) => typeof value === 'function', 'This must be a function.'))
}

const Columns = v.pipe(
  v.custom<Record<string, unknown>>(isRecord, 'This must be names of columns by field, such as map[email]=E-Mail.'),
  v.check(
    (map) => Object.keys(map).length <= inputLimits.fields,
    `This must have at most ${inputLimits.fields} fields.`,
  ),
  valuesByName(v.string('This must be the name of one column.')),
)

const fields = {
  ...formatField,
  map: v.optional(Columns, {}),
  mode: v.optional(v.picklist(importModes, `This must be one of ${importModes.join(', ')}.`), 'merge'),
  status: v.optional(v.literal('unsubscribed', 'This must be "unsubscribed".')),
  confirmed: v.optional(QueryBoolean, false),
  dry_run: v.optional(QueryBoolean, false),
}

export const ImportOptions = closedObject(
  {
    ...fields,
    ...abortField,
    onStart: functionField<(importId: number) => unknown>(),
    onProgress: functionField<(counts: ImportCounts) => unknown>(),
    onResults: functionField<(results: readonly ImportRowResult[]) => void | Promise<void>>(),
  },
  Object.keys(fields) as (keyof typeof fields)[],
)
export type ParsedOptions = v.InferOutput<typeof ImportOptions>
