/** Settles as the promise does, unless it takes longer. Then returns what `late` returns, or throws its error. */
export async function inTime<T, L>(promise: T | Promise<T>, ms: number, late: () => L): Promise<T | L> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  try {
    return await Promise.race([promise, limit.then(late)])
  } finally {
    clearTimeout(timer)
  }
}

/** A signal with a time limit. */
export interface TimeLimit {
  readonly signal: AbortSignal
  /** Stops the timer and the listener. Call it when the limited operation has ended. */
  end(): void
}

/**
 * Returns a signal that is aborted after a time, or with the given signal. On Node 20 a signal of `AbortSignal.any()` may be
 * collected before its time-out.
 */
export function timeLimit(ms: number, given: AbortSignal | undefined): TimeLimit {
  const limit = new AbortController()
  const forward = () => limit.abort(given?.reason)
  const timer = setTimeout(() => limit.abort(new DOMException(`No answer within ${ms} ms.`, 'TimeoutError')), ms)
  given?.addEventListener('abort', forward)
  if (given?.aborted) forward()
  return {
    signal: limit.signal,
    end() {
      clearTimeout(timer)
      given?.removeEventListener('abort', forward)
    },
  }
}
