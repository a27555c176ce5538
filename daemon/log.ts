import { destination, type Logger as Pino, pino } from 'pino'
import type { Config } from './config.ts'

const standardError = 2

/**
 * The daemon's log: JSON lines on standard error, as standard output belongs to the commands.
 *
 * @param usual The level unless one is configured.
 */
export function openLog({ logLevel }: Pick<Config, 'logLevel'>, usual: 'info' | 'warn'): Pino {
  const stderr = destination(standardError)
  // Nobody may be reading any more; that is no reason to stop working.
  stderr.on('error', () => {})
  return pino({ level: logLevel ?? usual, base: null, timestamp: isoTime }, stderr)
}

function isoTime(): string {
  return `,"time":"${new Date().toISOString()}"`
}
