import type { Writable } from 'node:stream'
import { type Logger as Pino, pino } from 'pino'
import type { Config } from './config.ts'

/** Of lines that wait because standard error is not read. */
const maxWaitingBytes = 1024 * 1024

/**
 * The daemon's log: JSON lines on standard error, as standard output belongs to the commands.
 *
 * @param usual The level unless one is configured.
 * @param output Standard error. It does not block: lines that wait beyond a bound are dropped, and counted.
 */
export function openLog(
  { logLevel }: Pick<Config, 'logLevel'>,
  usual: 'info' | 'warn',
  output: Pick<Writable, 'write' | 'on' | 'writableLength'>,
): Pino {
  let dropped = 0
  output.on('drain', () => {
    if (dropped === 0) return
    const count = dropped
    dropped = 0
    logger.warn({ dropped: count }, 'log lines were dropped, as nothing read standard error')
  })
  const write = (line: string) => {
    if (output.writableLength > maxWaitingBytes) dropped += 1
    else output.write(line)
  }
  const logger = pino({ level: logLevel ?? usual, base: null, timestamp: isoTime }, { write })
  return logger
}

function isoTime(): string {
  return `,"time":"${new Date().toISOString()}"`
}
