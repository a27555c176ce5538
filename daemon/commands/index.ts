import { auditList } from './audit.ts'
import { backup } from './backup.ts'
import { clientCommands } from './client.ts'
import type { Command } from './command.ts'
import { contactCommands } from './contact.ts'
import { copy } from './copy.ts'
import { dispatch } from './dispatch.ts'
import { doctor } from './doctor.ts'
import { endpointCommands } from './endpoint.ts'
import { exportCommand } from './export.ts'
import { identityCommands } from './identity.ts'
import { importCommand } from './import.ts'
import { listCommands } from './list.ts'
import { compact, migrate, reseal } from './maintenance.ts'
import { newsletterCommands } from './newsletter.ts'
import { restore } from './restore.ts'
import { serve } from './serve.ts'
import { suppressionCommands } from './suppression.ts'
import { tokenCommands } from './token.ts'

export const commands: readonly Command[] = [
  serve,
  dispatch,
  migrate,
  ...clientCommands,
  ...tokenCommands,
  auditList,
  ...listCommands,
  ...contactCommands,
  ...suppressionCommands,
  ...endpointCommands,
  ...identityCommands,
  ...newsletterCommands,
  reseal,
  importCommand,
  exportCommand,
  backup,
  restore,
  compact,
  copy,
  doctor,
]
