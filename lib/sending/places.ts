/**
 * The places of a sequence's steps, and the progress of enrolments through them.
 *
 * A removed step is never the next step, and its messages are not tried again. Its place stays stored: it may be the
 * last step of an enrolment, and an attempt to send it may be under way.
 */

/** A removed step has the position of the last step before it. */
export interface Place {
  readonly id: number
  readonly position: number
  readonly is_removed: boolean
  readonly delay_seconds: number
  /** Rank before the first reordering since the step was created; null if there was none. */
  readonly moved_rank: number | null
}

/** The steps that an enrolment has done or skipped. */
export interface Progress {
  /** The last step that is done; null before the first. */
  readonly last_step_id: number | null
  /** JSON ids of the done and skipped steps; null if no steps were reordered before the last one was done. */
  readonly passed_ids: string | null
}

export const atStart: Progress = { last_step_id: null, passed_ids: null }

/** Orders the steps by their places. A removed step comes after the one at its position. */
function rankOf({ position, is_removed }: Place): number {
  return 2 * position + (is_removed ? 1 : 0)
}

/**
 * Returns the ids of the done and skipped steps. Without reordering, these are all steps up to the last one. After a
 * reordering, these are the steps up to the last one in the old order, those done since, and new steps before the last.
 */
export function passedSteps(places: readonly Place[], { last_step_id, passed_ids }: Progress): Set<number> {
  const last = places.find(({ id }) => id === last_step_id)
  if (!last) return new Set()
  const done = new Set<number>(passed_ids === null ? [last.id] : JSON.parse(passed_ids))
  for (const step of places) {
    const { id, moved_rank: rank } = step
    if (rank === null) {
      if (rankOf(step) < rankOf(last)) done.add(id)
    } else if (passed_ids === null && last.moved_rank !== null && rank < last.moved_rank) done.add(id)
  }
  return done
}

/** Returns the first step that is neither done nor skipped. */
export function nextPlace<P extends Place>(places: readonly P[], progress: Progress): P | undefined {
  const passed = passedSteps(places, progress)
  return places.find(({ id, is_removed }) => !is_removed && !passed.has(id))
}

/** Returns the progress after a step. If steps were reordered, it names all done and skipped steps. */
export function progressAfter(places: readonly Place[], progress: Progress, stepId: number | null): Progress {
  if (stepId === null || places.every(({ moved_rank }) => moved_rank === null)) {
    return { last_step_id: stepId, passed_ids: null }
  }
  return { last_step_id: stepId, passed_ids: JSON.stringify([...passedSteps(places, progress).add(stepId)]) }
}

/**
 * Returns the ranks that steps get in a reordering. A step that has one keeps it.
 *
 * @param places As they were before.
 * @param kept The ids of the steps that stay, in their new order.
 * @returns Empty if the order stays the same.
 */
export function ranksBeforeMove(
  places: readonly Place[],
  kept: Iterable<number>,
): { id: number; moved_rank: number }[] {
  const positions = new Map(places.map(({ id, position }) => [id, position]))
  const order = [...kept].map((id) => positions.get(id)!)
  if (order.every((position, at) => at === 0 || position > order[at - 1]!)) return []
  const highest = Math.max(0, ...places.map(({ moved_rank }) => moved_rank ?? 0))
  return places
    .filter(({ moved_rank }) => moved_rank === null)
    .map((place) => ({ id: place.id, moved_rank: highest + rankOf(place) }))
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
