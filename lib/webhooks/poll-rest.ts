/**
 * Looking for due deliveries takes longer the more endpoints have pending ones, and on SQLite it holds up all else in the
 * process. After a look the dispatcher rests nine times as long, so that looks take a tenth of the time at most. A claim
 * makes up for some of the look. Below `fewEndpoints` a look is too short to matter.
 */
const restFactor = 9
const lookMsPerEndpoint = 0.003
const lookMsPerClaim = 0.1
const fewEndpoints = 300
const maxRestMs = 1000

/** The dispatcher's rest between two looks. */
export class PollRest {
  #ms = 0
  #stop = () => {}
  isResting = false

  /** @param waitingEndpoints Endpoints with pending deliveries, due or not. */
  after(waitingEndpoints: number, claimed: number): void {
    const lookMs = waitingEndpoints * lookMsPerEndpoint - claimed * lookMsPerClaim
    this.#ms = waitingEndpoints < fewEndpoints ? 0 : Math.min(Math.max(0, lookMs) * restFactor, maxRestMs)
  }

  /** Resolves at the end of the rest; being woken does not end it. */
  async take(): Promise<void> {
    if (this.#ms === 0) return
    this.isResting = true
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, this.#ms)
      this.#stop = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.isResting = false
  }

  /** Ends the rest, and takes no more. */
  stop(): void {
    this.#ms = 0
    this.#stop()
  }
}
