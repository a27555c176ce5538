import { version } from '../../lib/index.ts'
import { commit } from '../addon.ts'
import { checkDatabase } from '../checks/database.ts'
import type { Finding } from '../checks/finding.ts'
import { checkMachine } from '../checks/machine.ts'
import { checkLinks, checkMail } from '../checks/mail.ts'
import { CliError } from '../cli-error.ts'
import { type Command, table } from './command.ts'

const marks = { ok: 'ok', warning: 'WARNING', fault: 'FAULT' } as const

export const doctor: Command = {
  usage: 'doctor',
  about: 'Check database, key, clock, port, disk, mail and permissions, and suggest a remedy for each fault',
  settings: true,
  run: async ({ config, print }) => {
    const built = commit === undefined ? `mailkeep ${version}` : `mailkeep ${version} (${commit})`
    const findings: Finding[] = [
      { check: 'program', state: 'ok', message: `${built}, node ${process.versions.node}` },
      ...(await checkDatabase(config)),
      ...(await checkMachine(config)),
      await checkMail(config),
      ...checkLinks(config),
    ]
    const faults = findings.filter(({ state }) => state === 'fault')
    const rows = findings.flatMap(({ check, state, message, remedy }) => [
      [marks[state], check, message],
      ...(remedy === undefined ? [] : [['', '', `→ ${remedy}`]]),
    ])
    print({ json: { healthy: faults.length === 0, findings }, text: table(rows, '') })
    if (faults.length > 0) {
      const checks = [...new Set(faults.map(({ check }) => check))]
      throw new CliError(`There are faults, see the remedies: ${checks.join(', ')}.`)
    }
  },
}
