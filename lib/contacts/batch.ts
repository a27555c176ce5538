/** Many operations on contacts in one call. */
import { type Context, isAdmin } from '../context.ts'
import { invalid } from '../errors.ts'
import { parse } from '../parse.ts'
import { type AbortInput, AbortOptions } from '../signal.ts'
import { transact } from '../storage/transaction.ts'
import {
  Batch,
  type BatchInput,
  type BatchOperation,
  type BatchOperationInput,
  type BatchOperationResult,
  parseOperation,
} from './batch-schema.ts'
import { countDeliveries, type DeliveryCounts, inTurn, maxRowsPerTransaction, rowsOf } from './batch-size.ts'
import { type Planned, runStep, type Step } from './batch-steps.ts'
import { lockBatches } from './bulk.ts'
import { refusal } from './bulk-merge.ts'
import { listEmailKeys } from './bulk-queries.ts'
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
  const planned = await planOperations(ctx, operations, results)
  for (const steps of transactionsOf(planned, await countDeliveries(ctx))) {
    const save = () =>
      transact(ctx, async (tx) => {
        await lockBatches(tx)
        const done: [number, BatchOperationResult][] = []
        for (const step of steps) done.push(...(await runStep(tx, step)))
        return done
      })
    const done = await inTurn(ctx, signal, save)
    for (const [at, result] of done) results[at] = result
  }
  return results
}

/** Parses the operations and finds the address of each contact. Writes the results of those that are refused. */
async function planOperations(
  ctx: Context,
  inputs: readonly unknown[],
  results: BatchOperationResult[],
): Promise<Planned[]> {
  const parsed: (BatchOperation & { at: number })[] = []
  for (const [at, input] of inputs.entries()) {
    try {
      const operation = parseOperation(input)
      requireMayConfirm(ctx, operation.confirmed)
      if (operation.op === 'delete') requireMayErase(ctx)
      parsed.push({ ...operation, at })
    } catch (error) {
      results[at] = { status: 'refused', errors: refusal(error).refused.errors! }
    }
  }
  const ids = [...new Set(parsed.flatMap(({ id }) => id ?? []))]
  const found = ids.length > 0 ? await listEmailKeys(ctx, { client_id: ctx.clientId, ids }) : []
  const keys = new Map(found.map(({ id, email_key }) => [id, email_key]))
  return parsed.flatMap((operation) => {
    const key = operation.emailKey ?? keys.get(operation.id!)
    if (key !== undefined) return [{ ...operation, key }]
    results[operation.at] = { status: 'refused', errors: { id: ['No such contact.'] } }
    return []
  })
}

/** Tokens of members erase contacts one by one. */
function requireMayErase(ctx: Context): void {
  if (isAdmin(ctx)) return
  throw invalid('op', 'Erasing contacts with a batch needs a token with the role admin.')
}

/** An erasure also deletes memberships, events and stored answers. */
const rowsOfErasure = 10
const rowsOfAuditEntry = 1
/** Every step runs some statements, however few operations it has. */
const rowsOfStep = 10

/**
 * Divides the operations into transactions, and these into steps. All operations of a step concern different contacts, so
 * that the step can run those of one kind together without changing the result.
 */
function* transactionsOf(planned: readonly Planned[], deliveries: DeliveryCounts): Generator<Step[]> {
  let steps: Map<string, Planned>[] = []
  let rows = 0
  for (const operation of planned) {
    let step = steps.at(-1)
    if (!step || step.has(operation.key)) {
      step = new Map()
      steps.push(step)
      rows += rowsOfStep
    }
    step.set(operation.key, operation)
    rows += rowsOfOperation(operation, deliveries)
    if (rows < maxRowsPerTransaction) continue
    yield steps
    steps = []
    rows = 0
  }
  if (steps.length > 0) yield steps
}

function rowsOfOperation({ op, contact, change, tags, lists }: Planned, deliveries: DeliveryCounts): number {
  const { perContact, perEvent } = deliveries
  if (op === 'delete') return rowsOfErasure + perEvent
  if (contact) return rowsOfAuditEntry + rowsOf(contact, deliveries) + perContact + lists.length * (1 + perContact)
  const changes = 1 + lists.length + tags.length + (change?.tags?.length ?? 0)
  return rowsOfAuditEntry + changes * (1 + perEvent)
}
