/** Tells which of the processes that share a database are alive, so that the claims of dead ones need not wait. */
export interface Liveness {
  /**
   * Returns the id of this process, which names it in its claims, and holds a lock for it until the process ends. Empty
   * if the database cannot tell when the process dies: then its claims end with their leases.
   */
  id(): string
  /** Returns those of the ids whose process has certainly died. */
  findDead(ids: readonly string[]): Promise<string[]>
}

/** For a database whose file or server connection belongs to the host, or that only this process has. */
export const noLiveness: Liveness = { id: () => '', findDead: async () => [] }
