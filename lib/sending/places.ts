/** The places of a sequence's steps, also of removed ones, and the way from one to the next. */

/** A removed step has the position of the last step before it. */
export interface Place {
  readonly id: number
  readonly position: number
  readonly is_removed: boolean
  readonly delay_seconds: number
}

/** Returns the first step after a step, which may be removed; without one, the first step. */
export function nextPlace<P extends Place>(places: readonly P[], lastStepId: number | null): P | undefined {
  const last = lastStepId === null ? 0 : (places.find(({ id }) => id === lastStepId)?.position ?? 0)
  return places.find(({ position, is_removed }) => !is_removed && position > last)
}

/** Returns whether a contact whose last step is `lastStepId` is past a step. A removed step is after those at its position. */
export function isPast(places: readonly Place[], lastStepId: number | null, stepId: number): boolean {
  const last = places.find(({ id }) => id === lastStepId)
  const step = places.find(({ id }) => id === stepId)
  if (!last || !step || last.id === step.id) return last !== undefined && last.id === step?.id
  return step.position < last.position || (step.position === last.position && !step.is_removed)
}

/**
 * Returns the new positions of removed steps: each has the position of the last step before it that stays.
 *
 * @param places In their order.
 * @param positions The positions of the steps that stay, by id.
 */
export function removedPlaces(places: readonly Place[], positions: ReadonlyMap<number, number>): Map<number, number> {
  const removed = new Map<number, number>()
  let last = 0
  for (const { id } of places) {
    const position = positions.get(id)
    if (position === undefined) removed.set(id, last)
    else last = position
  }
  return removed
}
