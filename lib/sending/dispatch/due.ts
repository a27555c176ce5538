import { isAddressSuppressed } from '../../consent/suppressions.ts'
import type { Tx } from '../../context.ts'
import { foldAddress } from '../../parse.ts'
import type { DueMessage } from './claim-queries.ts'

type Due = Pick<DueMessage, 'contact_id' | 'email' | 'email_key' | 'is_suppressed'>

/** Skipped messages do not count against the limit. If some must be skipped, this many more are read. */
const maxSkipped = 50

/** Reads `limit` rows. Reads more only if some of them cannot be claimed, because each is read with its contact. */
export async function readDue<Row extends Due>(
  tx: Tx,
  limit: number,
  read: (limit: number) => Promise<readonly Row[]>,
  cannotBeClaimed: (row: Row) => boolean,
): Promise<readonly Row[]> {
  const rows = await withSuppressions(tx, await read(limit))
  return rows.some(cannotBeClaimed) ? await withSuppressions(tx, await read(limit + maxSkipped)) : rows
}

/** The statements compare keys. An upgrade keeps the old key of a contact whose address has become that of another one. */
async function withSuppressions<Row extends Due>(tx: Tx, rows: readonly Row[]): Promise<readonly Row[]> {
  for (const row of rows) {
    const hasOldKey = row.contact_id !== null && row.email_key !== foldAddress(row.email)
    if (hasOldKey) row.is_suppressed = await isAddressSuppressed(tx, row.email)
  }
  return rows
}
