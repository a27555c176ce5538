import type { Writable } from 'node:stream'
import { type Logger as Pino, pino } from 'pino'
import type { Config } from './config.ts'

/** Maximum bytes of log lines that wait until standard error is read. */
const maxBufferedBytes = 1024 * 1024

/**
 * Opens the daemon's log: JSON lines on standard error. Standard output is for the results of commands.
 *
 * @param defaultLevel The level when none is configured.
 * @param output Standard error. Logging never blocks: when too many lines wait, further lines are dropped and counted.
 * @param processNumber Is in each line, if several processes serve together.
 */
export function openLog(
  { logLevel }: Pick<Config, 'logLevel'>,
  defaultLevel: 'info' | 'warn',
  output: Pick<Writable, 'write' | 'on' | 'writableLength'>,
  processNumber?: number,
): Pino {
  let dropped = 0
  output.on('drain', () => {
    if (dropped === 0) return
    const count = dropped
    dropped = 0
    logger.warn({ dropped: count }, 'log lines were dropped, because standard error was not read')
  })
  const write = (line: string) => {
    if (output.writableLength > maxBufferedBytes) dropped += 1
    else output.write(line)
  }
  const logger = pino(
    {
      level: logLevel ?? defaultLevel,
      base: processNumber === undefined ? null : { process: processNumber },
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    { write },
  )
  return logger
}
