/** AbortSignals of operations that run long. */
import * as v from 'valibot'
import { closedObject } from './parse.ts'

/** Stops an operation that runs long. */
export interface AbortInput {
  /** When it is aborted, the operation stops between two transactions and throws the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

export const abortField = {
  signal: v.optional(v.custom<AbortSignal>((value) => value instanceof AbortSignal, 'This must be an AbortSignal.')),
}

export const AbortOptions = closedObject(abortField)

/** Settles as the promise does, unless the signal is aborted first. Then rejects with its reason. */
export async function orAborted<T>(promise: T | Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return await promise
  let stop = () => {}
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason)
  })
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** Passes the source on until the signal is aborted, also while it waits for the source. Then throws its reason. */
export async function* untilAborted<T>(
  source: AsyncIterable<T> | Iterable<T>,
  signal: AbortSignal | undefined,
): AsyncGenerator<T> {
  if (!signal) {
    yield* source
    return
  }
  const iterator = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]()
  try {
    for (;;) {
      signal.throwIfAborted()
      const next = await orAborted(iterator.next(), signal)
      if (next.done) return
      yield next.value
    }
  } finally {
    // Not awaited: a source that is stuck would never answer.
    void Promise.resolve(iterator.return?.()).catch(() => {})
  }
}
