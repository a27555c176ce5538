import * as v from 'valibot'
import { Count, described, Id, type RecordFields, recordFrom, Time } from '../record.ts'
import type { Timestamp } from '../time.ts'

/** An import of a file, and how far it is. Kept for 30 days. */
export interface Import {
  id: number
  /** The list of the import; null if the file names the lists. */
  list_id: number | null
  dry_run: boolean
  /** `failed` also when its process died. The rows saved before stay. */
  status: 'running' | 'finished' | 'failed'
  /** Rows read so far, without blank ones. */
  rows: number
  created: number
  updated: number
  /** Rows whose contact existed already, with `mode: 'skip'`. */
  skipped: number
  refused: number
  /**
   * Code of the error that ended it, `aborted` by its signal, or `abandoned` by its process. It is `invalid_json` if the
   * upload was cut off.
   */
  error: string | null
  started_at: Timestamp
  finished_at: Timestamp | null
}

export const importFields: RecordFields<Import> = {
  id: Id,
  list_id: described(v.nullable(Id), 'The list of the import; null if the file names the lists.'),
  dry_run: described(v.boolean(), 'Whether nothing is stored.'),
  status: described(
    v.picklist(['running', 'finished', 'failed']),
    '`failed` also when its process died. The rows saved before stay.',
  ),
  rows: described(Count, 'Rows read so far, without blank ones.'),
  created: Count,
  updated: Count,
  skipped: described(Count, 'Rows whose contact existed already, with `mode=skip`.'),
  refused: Count,
  error: described(
    v.nullable(v.string()),
    'Code of the error that ended it, `aborted` by its signal, or `abandoned` by its process. It is `invalid_json` if the upload was cut off.',
  ),
  started_at: Time,
  finished_at: v.nullable(Time),
}

export const importFrom = recordFrom(importFields)
