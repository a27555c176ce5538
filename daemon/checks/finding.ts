/** Result of one check. */
export interface Finding {
  readonly check: string
  readonly state: 'ok' | 'warning' | 'fault'
  readonly message: string
  /** Advice for the user. */
  readonly remedy?: string
}

export function ok(check: string, message: string): Finding {
  return { check, state: 'ok', message }
}

export function warning(check: string, message: string, remedy: string): Finding {
  return { check, state: 'warning', message, remedy }
}

export function fault(check: string, message: string, remedy: string): Finding {
  return { check, state: 'fault', message, remedy }
}
