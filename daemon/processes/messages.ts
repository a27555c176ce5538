/** The line that a process prints when it serves: text for people, and the same as JSON. */
export interface StartReport {
  readonly json: unknown
  readonly text: string
}

/** From the first process to one that serves. */
export type ToWorker =
  | { readonly kind: 'stop' }
  /** Asks for its own metrics. */
  | { readonly kind: 'report' }
  /** The metrics of all processes. */
  | { readonly kind: 'metrics'; readonly id: number; readonly text: string }

/** From a process that serves to the first one. */
export type ToPrimary =
  | { readonly kind: 'started'; readonly report: StartReport }
  /** Its own metrics. */
  | { readonly kind: 'report'; readonly text: string }
  /** Asks for the metrics of all processes. */
  | { readonly kind: 'metrics'; readonly id: number }
