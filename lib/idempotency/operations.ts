import { type Context, now, type Tx } from '../context.ts'
import { invalid, MailkeepError } from '../errors.ts'
import { parse } from '../parse.ts'
import type { SealedRows } from '../sealing/reseal.ts'
import { transact } from '../storage/transaction.ts'
import { nextTurn, timestamp } from '../time.ts'
import * as queries from './queries.ts'
import { fingerprintOf, hashOf, type IdempotentResult, NamedRequest, type StoredResult } from './schema.ts'

const keptMs = 86_400_000

/** In one transaction: an answer may have a megabyte and more. */
const atOnce = 20

/**
 * Does work at most once for a key of the client's: the key commits with what the work has written, and for 24 hours a
 * repeat gets the first answer. Work that fails leaves nothing, no key either.
 *
 * @param key 1–255 characters.
 * @param request What is asked for, as JSON: by it a repeat is told from another request.
 * @param work Awaits operations and nothing else; it may run twice, and then the first time is undone.
 * @throws MailkeepError `idempotency_mismatch`: the key was used for another request; `conflict`: the first request
 *   with the key is still running, or its answer cannot be read; `validation_failed`; and what `work` throws.
 */
export async function withIdempotencyKey<T>(
  ctx: Context,
  key: unknown,
  request: unknown,
  work: (tx: Tx) => Promise<T>,
): Promise<IdempotentResult<T>> {
  const key_hash = hashOf(parse(NamedRequest, { key }).key)
  const asked = fingerprintOf(request)
  return whileFree(ctx, key_hash, () =>
    transact(ctx, async (tx) => {
      const kept = await findKept(tx, key_hash)
      if (kept) return { answer: answerTo(asked, kept) as T, replayed: true }
      const shown = new Set<number>()
      const answer = await work({ ...tx, onContactRead: (contactId) => void shown.add(contactId) })
      const text = textOf({ asked, answer })
      await keep(tx, key_hash, text, [...shown])
      return { answer: (JSON.parse(text) as StoredResult).answer as T, replayed: false }
    }),
  )
}

function textOf(kept: StoredResult): string {
  try {
    return JSON.stringify(kept)
  } catch (cause) {
    throw invalid('work', 'What work returns must be JSON: no BigInt, no cycles.', cause)
  }
}

/** Two requests with one key do not wait for each other: who comes second may ask again. */
async function whileFree<T>(ctx: Context, key_hash: string, run: () => Promise<T>): Promise<T> {
  const name = ownerOf(ctx.clientId, key_hash)
  if (ctx.idempotencyKeysInUse.has(name)) throw stillRunning()
  ctx.idempotencyKeysInUse.add(name)
  try {
    return await run()
  } finally {
    ctx.idempotencyKeysInUse.delete(name)
  }
}

async function findKept(tx: Tx, key_hash: string): Promise<StoredResult | undefined> {
  const name = ownerOf(tx.clientId, key_hash)
  // Another process has it; on SQLite, where one writes at a time, it has committed by now.
  if (tx.storage.dialect.tryLock && !(await queries.tryLockKey(tx, { name }))!.taken) throw stillRunning()
  const row = await queries.findAnswer(tx, { client_id: tx.clientId, key_hash, kept_since: keptSince(tx) })
  if (!row) return undefined
  if (row.stale) {
    await queries.deleteAnswer(tx, { id: row.id })
    return undefined
  }
  if (!tx.sealer.canOpen(row.answer)) {
    const message = 'This request was done before, but its answer was sealed with another encryption key.'
    throw new MailkeepError('conflict', message)
  }
  return JSON.parse(tx.sealer.openOnce(row.answer, name))
}

function answerTo(asked: string, kept: StoredResult): unknown {
  if (kept.asked === asked) return kept.answer
  throw new MailkeepError('idempotency_mismatch', 'This key was used for another request: take a new one for each.')
}

async function keep(tx: Tx, key_hash: string, text: string, contact_ids: readonly number[]): Promise<void> {
  const { clientId: client_id, sealer } = tx
  const answer = sealer.seal(text, ownerOf(client_id, key_hash))
  const id = (await queries.insertAnswer(tx, { client_id, key_hash, answer, created_at: now(tx) }))!
  if (contact_ids.length === 0) return
  const noted = await queries.insertShown(tx, { answer_id: id, contact_ids })
  // One of them was erased meanwhile, by this work or beside it: nothing of it is kept.
  if (noted < contact_ids.length) await queries.deleteAnswer(tx, { id })
}

/** Deletes kept answers past their time, in chunks. */
export async function deleteExpiredAnswers(ctx: Context): Promise<void> {
  const chunk = { kept_since: keptSince(ctx), limit: atOnce }
  while ((await transact(ctx, (tx) => queries.deleteOldAnswers(tx, chunk))) > 0) await nextTurn()
}

/** Those of a key that is not there any more are left to their end: they open for nobody, and block nothing else. */
export const sealedAnswers: SealedRows = {
  async lock(tx, chunk) {
    const rows = await queries.lockAnswers(tx, chunk)
    return rows.map(({ id, client_id, key_hash, answer }) => ({
      id,
      sealed: answer,
      owner: ownerOf(client_id, key_hash),
    }))
  },
  save: queries.saveAnswer,
  mayBeLost: true,
  atOnce,
}

/** Sealed for one key of one client, an answer opens for no other. */
function ownerOf(clientId: number, key_hash: string): string {
  return `answer ${clientId} ${key_hash}`
}

function keptSince(ctx: Context): string {
  return timestamp(ctx.clock() - keptMs)
}

function stillRunning(): MailkeepError {
  return new MailkeepError('conflict', 'The first request with this key is still running: ask again shortly.')
}
