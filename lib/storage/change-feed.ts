/** Notifies processes of each other's commits. */
export interface ChangeFeed {
  /** Returns a number that changes whenever another process or handle may have committed. */
  version(): Promise<number>
  /** Reports a commit with new work to the other processes. Several commits share one notification. */
  notify(): void
  /** Calls `listener` soon after another process may have committed. @returns a function that ends the subscription. */
  subscribe(listener: () => void): () => void
}

/** How often subscriptions check for commits of other processes. */
const versionPollIntervalMs = 50

/** Returns a feed that polls `version`, for a database that sends no notifications. */
export function pollingFeed(version: () => Promise<number>): ChangeFeed {
  return {
    version,
    notify() {},
    subscribe(listener) {
      let seen = Number.NaN
      const timer = setInterval(async () => {
        const current = await version().catch(() => seen)
        if (current !== seen) listener()
        seen = current
      }, versionPollIntervalMs)
      return () => clearInterval(timer)
    },
  }
}
