/** Makes one attempt in a process that can open no more files; prints the recorded attempt. */
import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'
import '../../lib/webhooks/http/connections.ts' // loaded at the first attempt otherwise
import { printAttempt } from './one-attempt.ts'

function openAll(): number[] {
  const files: number[] = []
  try {
    for (;;) files.push(openSync(devNull, 'r'))
  } catch {
    return files
  }
}

const codeOf = ({ code }: NodeJS.ErrnoException) => code

await printAttempt('https://hook.example/', {}, codeOf, async (mailkeep) => {
  const files = openAll()
  await mailkeep.deliverDue()
  files.forEach(closeSync)
})
