/** Writes messages as files instead of sending them: the default of `npm start`. */
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { invalid } from '../../errors.ts'
import type { MailTransport } from '../transport.ts'
import { composeMail } from './nodemailer.ts'

/**
 * Writes each message to `PATH/UUID.eml`, which every mail program opens. The folder is created when it is missing.
 * Needs the package `nodemailer`.
 *
 * @throws MailkeepError `validation_failed` on `path`
 * @example
 * const mailkeep = await createMailkeep({ database, encryptionKey, mail: { transport: folder('mail') } })
 */
export function folder(path: string): MailTransport {
  if (typeof path !== 'string' || path === '') throw invalid('path', 'path must be the path of a folder.')
  return {
    isLocal: true,
    async send(message) {
      const mail = await composeMail(message)
      await mkdir(path, { recursive: true, mode: 0o700 })
      // The id is a UUID. The replacement keeps every file in the folder, whatever a host passes.
      const file = join(path, message.id.replace(/[^\w-]/g, '_'))
      await writeFile(`${file}.tmp`, mail, { mode: 0o600 })
      await rename(`${file}.tmp`, `${file}.eml`)
      return { kind: 'sent' }
    },
  }
}
