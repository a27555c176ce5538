import { readFileSync } from 'node:fs'

const ticksPerSecond = 100 // USER_HZ on Linux

/** The processor time a process has used so far, in seconds; NaN where the system does not tell: see proc(5). */
export function cpuSeconds(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
    return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
  } catch {
    return Number.NaN
  }
}
