import { type Context, now, type Tx } from '../context.ts'
import { invalid, MailkeepError } from '../errors.ts'
import { type BatchStep, weighted } from '../jobs/batches.ts'
import { maxRowsPerBatch, runBatches } from '../jobs/operations.ts'
import { readJson } from '../json.ts'
import { parse } from '../parse.ts'
import type { SealedRows } from '../sealing/reseal.ts'
import { transact } from '../storage/transaction.ts'
import { dayMs, timestamp } from '../time.ts'
import * as queries from './queries.ts'
import { fingerprintOf, hashOf, type IdempotentResult, NamedRequest, type StoredResult } from './schema.ts'

/** A batch is small, because a single result may be larger than 1 MB. */
const maxResultsPerBatch = 20

/** Number of ordinary rows that a deleted result counts as. */
const weight = maxRowsPerBatch / maxResultsPerBatch
export const deleteResultsOfContact = weighted(weight, queries.deleteResultsOfContact)
export const deleteResultsOfClient = weighted(weight, queries.deleteResultsOfClient)

/** Moves the results that show a merged contact to the contact named in the job's state. They are those of one day. */
export const moveResultsOfContact: BatchStep = async (tx, { target, state }) => {
  await queries.copyResultsOfContact(tx, { target, into: (state as { into: number }).into })
  return await queries.forgetContact(tx, { target })
}

/**
 * Runs `work` at most once for an idempotency key of the client, as `IdempotencyApi` says.
 *
 * @param work Gets the context of the transaction.
 */
export async function withIdempotencyKey<T>(
  ctx: Context,
  key: unknown,
  request: unknown,
  work: (tx: Tx) => Promise<T>,
): Promise<IdempotentResult<T>> {
  const key_hash = hashOf(parse(NamedRequest, { key }).key)
  const fingerprint = fingerprintOf(request)
  return ctx.local.holdKey(ownerOf(ctx.clientId, key_hash), () =>
    transact(ctx, async (tx) => {
      const stored = await findStored(tx, key_hash)
      if (stored) return { answer: answerOf(stored, fingerprint) as T, replayed: true }
      const contactIds = new Set<number>()
      const answer = await work({
        ...tx,
        local: { ...tx.local, onContactRead: (contactId) => void contactIds.add(contactId) },
      })
      const text = textOf({ asked: fingerprint, answer })
      await store(tx, key_hash, text, [...contactIds])
      return { answer: (readJson(text) as StoredResult).answer as T, replayed: false }
    }),
  )
}

function textOf(result: StoredResult): string {
  try {
    return JSON.stringify(result)
  } catch (cause) {
    throw invalid('work', 'What work returns must be JSON: no BigInt, no cycles.', cause)
  }
}

/** Runs the request with a key. Refuses the second of two concurrent requests with one key; its caller should retry. */
export type HoldKey = <T>(key: string, run: () => Promise<T>) => Promise<T>

/** Knows the keys whose first request is running in this process. */
export function holdKeys(): HoldKey {
  const held = new Set<string>()
  return async (key, run) => {
    if (held.has(key)) throw stillRunning()
    held.add(key)
    try {
      return await run()
    } finally {
      held.delete(key)
    }
  }
}

async function findStored(tx: Tx, key_hash: string): Promise<StoredResult | undefined> {
  const name = ownerOf(tx.clientId, key_hash)
  // If the lock is taken, another process is using the key. SQLite needs no lock, because it has one writer at a time.
  if (tx.storage.dialect.tryLock && !(await queries.tryLockKey(tx, { name }))!.taken) throw stillRunning()
  const row = await queries.findResult(tx, { client_id: tx.clientId, key_hash, valid_since: validSince(tx) })
  if (!row) return undefined
  if (row.stale) {
    await queries.deleteResult(tx, { id: row.id })
    return undefined
  }
  if (!tx.sealer.canOpen(row.answer)) {
    const message =
      'This request was done before, but no key decrypts its response. Check what it did, then use a new idempotency key.'
    throw new MailkeepError('conflict', message)
  }
  return readJson(tx.sealer.openOnce(row.answer, name))
}

function answerOf(stored: StoredResult, fingerprint: string): unknown {
  if (stored.asked === fingerprint) return stored.answer
  throw new MailkeepError('idempotency_mismatch', 'This key was used for another request: take a new one for each.')
}

async function store(tx: Tx, key_hash: string, text: string, contact_ids: readonly number[]): Promise<void> {
  const { clientId: client_id, sealer } = tx
  const answer = sealer.seal(text, ownerOf(client_id, key_hash))
  const id = (await queries.insertResult(tx, { client_id, key_hash, answer, created_at: now(tx) }))!
  if (contact_ids.length === 0) return
  const recorded = await queries.insertResultContacts(tx, { answer_id: id, contact_ids })
  // Store nothing if one of the contacts was erased, by this work or a concurrent transaction.
  if (recorded < contact_ids.length) await queries.deleteResult(tx, { id })
}

/** Deletes expired results, in batches. */
export async function deleteExpiredResults(ctx: Context): Promise<void> {
  const batch = { before: validSince(ctx), now: now(ctx), limit: maxResultsPerBatch }
  await runBatches(ctx, (tx) => queries.deleteExpiredResults(tx, batch))
}

/** The stored results, for re-encryption. A result whose key is missing stays until it expires and affects no other. */
export const sealedResults: SealedRows = {
  async lock(tx, batch) {
    const rows = await queries.lockResults(tx, batch)
    return rows.map(({ id, client_id, key_hash, answer }) => ({
      id,
      sealed: answer,
      owner: ownerOf(client_id, key_hash),
    }))
  },
  save: queries.saveResult,
  mayBeLost: true,
  atOnce: maxResultsPerBatch,
}

/** Binds a stored result to one key of one client. It can be decrypted only for them. */
function ownerOf(clientId: number, key_hash: string): string {
  return `answer ${clientId} ${key_hash}`
}

/** Stored results are valid for a day. */
function validSince(ctx: Context): string {
  return timestamp(ctx.clock() - dayMs)
}

function stillRunning(): MailkeepError {
  return new MailkeepError('conflict', 'The first request with this key is still running: try again shortly.')
}
