/** Many events of the host in one call. */
import * as v from 'valibot'
import { type AbortInput, AbortOptions } from '../abort.ts'
import type { Context, Tx } from '../context.ts'
import { type FieldErrors, invalid, isMailkeepError } from '../errors.ts'
import { checkInTurns, inTurn } from '../jobs/batch-queue.ts'
import { withCommas } from '../limits.ts'
import { closedObject, isRecord, noRecordMessage, parse } from '../parse.ts'
import { transact } from '../storage/transaction.ts'
import { checkBody } from './event-body.ts'
import { countSubscribed, type EventEndpoints, findEventEndpoints, raiseAllTo, withContacts } from './outbox.ts'
import { type EventInput, HostEvent } from './schema.ts'

/** Maximum events of a call. */
const maxEventsPerBatch = 1000
/** A transaction writes at most this many events and deliveries, so that other writes do not wait long. */
const maxEventRowsPerTransaction = 2000
const maxBytesPerTransaction = 1_048_576

export interface EventBatchInput {
  /** At most 1,000. */
  readonly events: readonly EventInput[]
}

/** The result of one event of a batch. */
export interface EventBatchResult {
  /** `raised`: also if no endpoint subscribes to it. `refused`: nothing was stored. */
  status: 'raised' | 'refused'
  /** Messages by field of the event, when it was refused. */
  errors?: FieldErrors
}

export const EventBatch = closedObject({
  events: v.pipe(
    v.array(v.unknown(), 'This must be an array of events.'),
    v.maxLength(maxEventsPerBatch, `At most ${withCommas(maxEventsPerBatch)} events at a time.`),
  ),
})

interface ParsedEvent extends EventInput {
  readonly at: number
  readonly bytes: number
}

/**
 * Raises up to 1,000 events about mail that the host app sends by itself, at a fraction of the cost of one by one. An
 * event that is refused does not stop the others. As with `raise`, an event that shows a contact is erased with it.
 * Each transaction stores some hundreds of events. After an error the events before it stay raised; repeat the call with an
 * idempotency key to raise each once.
 *
 * @param input The events, or an object with them.
 * @param options `signal` stops the call between two transactions. It then throws the signal's reason.
 * @returns The result of each event, in their order.
 * @throws MailkeepError `validation_failed` on `events`: not an array, or too many events.
 * @example
 * await acme.events.raiseMany(sent.map((mail) => ({ type: 'newsletter.sent', data: { mail } })))
 */
export async function raiseEvents(
  ctx: Context,
  input: EventBatchInput | readonly EventInput[],
  options: AbortInput = {},
): Promise<EventBatchResult[]> {
  const { events } = parse(EventBatch, Array.isArray(input) ? { events: input } : input)
  const { signal } = parse(AbortOptions, options, 'options')
  const results: EventBatchResult[] = []
  const parsed = await parseEvents(ctx, events, results)
  for (const batch of transactionsOf(parsed, await findEventEndpoints(ctx))) {
    await inTurn(ctx, signal, () => transact(ctx, (tx) => raiseBatch(tx, batch)))
    for (const { at } of batch) results[at] = { status: 'raised' }
  }
  return results
}

/** Writes the results of the events that are refused, and returns the others. */
async function parseEvents(
  ctx: Context,
  inputs: readonly unknown[],
  results: EventBatchResult[],
): Promise<ParsedEvent[]> {
  const parsed: ParsedEvent[] = []
  await checkInTurns(ctx, inputs, (input, at) => {
    try {
      if (!isRecord(input)) throw invalid('event', noRecordMessage(input))
      const { type, data } = parse(HostEvent, input)
      parsed.push({ at, type, ...checkBody(type, data) })
    } catch (error) {
      if (!isMailkeepError(error, 'validation_failed')) throw error
      results[at] = { status: 'refused', errors: error.errors! }
    }
  })
  return parsed
}

function* transactionsOf(events: readonly ParsedEvent[], endpoints: EventEndpoints): Generator<ParsedEvent[]> {
  let batch: ParsedEvent[] = []
  let rows = 0
  let bytes = 0
  for (const event of events) {
    batch.push(event)
    rows += 1 + countSubscribed(endpoints, event.type)
    bytes += event.bytes
    if (rows < maxEventRowsPerTransaction && bytes < maxBytesPerTransaction) continue
    yield batch
    batch = []
    rows = 0
    bytes = 0
  }
  if (batch.length > 0) yield batch
}

async function raiseBatch(tx: Tx, batch: readonly ParsedEvent[]): Promise<void> {
  const occurrences = await withContacts(tx, batch)
  await raiseAllTo(tx, await findEventEndpoints(tx), occurrences)
}
