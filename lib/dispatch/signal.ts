/** Wakes all waiting callers. A wake-up between two waits is not lost. */
export class Signal {
  #wakeUps = 0
  readonly #waiting = new Set<() => void>()

  /** The number of wake-ups so far. Pass it to `wait`. */
  get seen(): number {
    return this.#wakeUps
  }

  wake(): void {
    this.#wakeUps += 1
    for (const resolve of this.#waiting) resolve()
  }

  /** Resolves at the next wake-up after `seen`, or after `timeoutMs`. */
  async wait(seen: number, timeoutMs: number): Promise<void> {
    if (seen !== this.#wakeUps || timeoutMs <= 0) return
    await new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer)
        this.#waiting.delete(done)
        resolve()
      }
      const timer = setTimeout(done, timeoutMs)
      this.#waiting.add(done)
    })
  }
}
