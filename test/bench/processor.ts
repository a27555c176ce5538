import { readFileSync } from 'node:fs'

const ticksPerSecond = 100 // USER_HZ on Linux

/** Returns the processor time of a process in seconds, or NaN where the system does not report it (see proc(5)). */
export function cpuSeconds(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
    return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
  } catch {
    return Number.NaN
  }
}
