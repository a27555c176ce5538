import type { Logger } from '../../lib/index.ts'

export interface Line {
  readonly level: string
  readonly fields: Record<string, unknown>
  readonly message: string
}

/** Keeps what is logged. */
export function keepLog() {
  const lines: Line[] = []
  const at = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, fields: { ...fields }, message })
  const logger: Logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  return { logger, lines, of: (level: string) => lines.filter((line) => line.level === level) }
}
