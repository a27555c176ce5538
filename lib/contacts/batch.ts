/** Many operations on contacts in one call. */

import { type AbortInput, AbortOptions } from '../abort.ts'
import { distinct } from '../collections.ts'
import { type Context, isAdmin, type Tx } from '../context.ts'
import { invalid } from '../errors.ts'
import { checkInTurns, inTurn, lockBatches } from '../jobs/batch-queue.ts'
import { parse } from '../parse.ts'
import { transact } from '../storage/transaction.ts'
import {
  Batch,
  type BatchInput,
  type BatchOperationInput,
  type BatchOperationResult,
  parseOperation,
} from './batch-schema.ts'
import {
  countDeliveries,
  type DeliveryCounts,
  findLarge,
  maxRowsPerTransaction,
  rowsOf,
  rowsOfAttributes,
  type StoredSize,
} from './batch-size.ts'
import { type Planned, runStep, type Step } from './batch-steps.ts'
import { refusal } from './bulk-merge.ts'
import { lockEmailKeys } from './bulk-queries.ts'
import { requireMayConfirm } from './double-opt-in.ts'

/**
 * Runs up to 1,000 operations on contacts, in order. An operation that is refused changes nothing and does not stop the
 * others. Each transaction runs some hundreds of operations. After an error the operations before it stay done, and the
 * call can be repeated safely.
 *
 * @param input The operations, or an object with them.
 * @param options `signal` stops the call between two transactions. It then throws the signal's reason.
 * @returns The result of each operation, in their order.
 * @throws MailkeepError `validation_failed` on `operations`: not an array, or too many operations.
 * @example
 * await acme.contacts.batch([
 *   { op: 'upsert', email: 'ada@example.org', tags: ['vip'], lists: [1] },
 *   { op: 'unsubscribe', email: 'bob@example.org' },
 * ])
 */
export async function runBatch(
  ctx: Context,
  input: BatchInput | readonly BatchOperationInput[],
  options: AbortInput = {},
): Promise<BatchOperationResult[]> {
  const { operations } = parse(Batch, Array.isArray(input) ? { operations: input } : input)
  const { signal } = parse(AbortOptions, options, 'options')
  const results: BatchOperationResult[] = []
  const parsed = await parseOperations(ctx, operations, results)
  const keys = {
    ids: parsed.flatMap(({ id }) => id ?? []),
    emailKeys: parsed.flatMap(({ emailKey }) => emailKey ?? []),
  }
  const large = await findLarge(ctx, keys, parsed.some(removesMany))
  for (const some of transactionsOf(parsed, await countDeliveries(ctx), large)) {
    const save = () =>
      transact(ctx, async (tx) => {
        await lockBatches(tx)
        const done: [number, BatchOperationResult][] = []
        for (const step of stepsOf(await findKeys(tx, some, done))) done.push(...(await runStep(tx, step)))
        return done
      })
    const done = await inTurn(ctx, signal, save)
    for (const [at, result] of done) results[at] = result
  }
  return results
}

type Parsed = Omit<Planned, 'key'>

/** Parses the operations. Writes the results of those that are refused. */
async function parseOperations(
  ctx: Context,
  inputs: readonly unknown[],
  results: BatchOperationResult[],
): Promise<Parsed[]> {
  const parsed: Parsed[] = []
  await checkInTurns(ctx, inputs, (input, at) => {
    try {
      const operation = parseOperation(input)
      requireMayConfirm(ctx, operation.confirmed)
      if (operation.op === 'delete') requireMayErase(ctx)
      parsed.push({ ...operation, at })
    } catch (error) {
      results[at] = { status: 'refused', errors: refusal(error).refused.errors! }
    }
  })
  return parsed
}

/** Finds and locks the address that each contact has now. Adds the results of operations on contacts that do not exist. */
async function findKeys(
  tx: Tx,
  operations: readonly Parsed[],
  results: [number, BatchOperationResult][],
): Promise<Planned[]> {
  const found = await lockContacts(tx, operations)
  const keys = new Map(found.map(({ id, email_key }) => [id, email_key]))
  return operations.flatMap((operation) => {
    const key = operation.emailKey ?? keys.get(operation.id!)
    if (key !== undefined) return [{ ...operation, key }]
    results.push([operation.at, { status: 'refused', errors: { id: ['No such contact.'] } }])
    return []
  })
}

/**
 * Locks the contacts that operations name. Contacts that are locked step by step would deadlock with a merge of them, or
 * with a save that waits to create a tag. A single step that names addresses only locks them itself.
 */
async function lockContacts(tx: Tx, operations: readonly Parsed[]): Promise<{ id: number; email_key: string }[]> {
  const ids = distinct(operations.flatMap(({ id }) => id ?? []))
  const email_keys = distinct(operations.flatMap(({ emailKey }) => emailKey ?? []))
  if (email_keys.length === operations.length) return []
  return lockEmailKeys(tx, { client_id: tx.clientId, ids, email_keys })
}

/** Tokens of members erase contacts one by one. */
function requireMayErase(ctx: Context): void {
  if (isAdmin(ctx)) return
  throw invalid('op', 'Erasing contacts with a batch needs a token with the role admin.')
}

/** An erasure also deletes memberships, events and stored results. */
const rowsOfErasure = 10
const rowsOfAuditEntry = 1
/** Every step runs some statements, however few operations it has. */
const rowsOfStep = 10

/**
 * Divides the operations into transactions of about the same number of rows.
 *
 * @param stored The sizes of the stored contacts. The attributes that operations add are added.
 */
function* transactionsOf(
  operations: readonly Parsed[],
  deliveries: DeliveryCounts,
  stored: Map<unknown, StoredSize>,
): Generator<Parsed[]> {
  let some: Parsed[] = []
  let step = new Set<unknown>()
  let rows = 0
  for (const operation of operations) {
    const name = operation.id ?? operation.emailKey
    if (step.size === 0 || step.has(name)) {
      step = new Set()
      rows += rowsOfStep
    }
    step.add(name)
    some.push(operation)
    const size = stored.get(name) ?? { rows: 0, memberships: 0 }
    rows += rowsOfOperation(operation, deliveries) + size.rows // each step reads its contacts
    if (removesMany(operation)) rows += size.memberships * (1 + deliveries.perEvent)
    const attributes = (operation.contact ?? operation.change)?.attributes
    if (attributes) stored.set(name, { ...size, rows: size.rows + rowsOfAttributes(attributes) })
    if (rows < maxRowsPerTransaction) continue
    yield some
    some = []
    step = new Set()
    rows = 0
  }
  if (some.length > 0) yield some
}

/**
 * Divides operations into steps. All operations of a step concern different contacts, so that the step can run those of
 * one kind together without changing the result.
 */
function stepsOf(planned: readonly Planned[]): Step[] {
  const steps: Map<string, Planned>[] = []
  for (const operation of planned) {
    if (steps.length === 0 || steps.at(-1)!.has(operation.key)) steps.push(new Map())
    steps.at(-1)!.set(operation.key, operation)
  }
  return steps
}

/** Whether an operation may remove tags or topics that it does not name. */
function removesMany({ op, change }: Parsed): boolean {
  return op === 'remove_from_list' || change?.tags !== undefined
}

function rowsOfOperation({ op, contact, change, tags, lists }: Parsed, deliveries: DeliveryCounts): number {
  const { perContact, perEvent } = deliveries
  if (op === 'delete') return rowsOfErasure + perEvent
  if (contact) return rowsOfAuditEntry + rowsOf(contact, deliveries) + perContact + lists.length * (1 + perContact)
  const changes = 1 + lists.length + tags.length + (change?.tags?.length ?? 0)
  return rowsOfAuditEntry + changes * (1 + perEvent)
}
