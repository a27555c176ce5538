import { isMailkeepError, type MailSettings, type MailTransport } from '../lib/index.ts'
import { folder } from '../lib/sending/transports/folder.ts'
import { sesMail } from '../lib/sending/transports/ses.ts'
import { smtp } from '../lib/sending/transports/smtp.ts'
import { CliError } from './cli-error.ts'
import type { MailConfig } from './config.ts'

/** Returns the mail options of the library. Nothing is connected or loaded before the first message. */
export function mailOptions({ transport, settings }: MailConfig): Partial<MailSettings> {
  const opened = openTransport({ transport, settings })
  return opened === undefined ? settings : { ...settings, transport: opened }
}

/**
 * @param options.timeoutMs Maximum wait for the SMTP server. Default: that of `smtp()`.
 * @throws CliError The settings are wrong.
 */
export function openTransport(
  { transport, settings: { connections } }: Pick<MailConfig, 'transport' | 'settings'>,
  options: { readonly timeoutMs?: number } = {},
): MailTransport | undefined {
  if (transport.kind === 'none') return undefined
  if (transport.kind === 'folder') return folder(transport.path)
  if (transport.kind === 'ses') return sesMail()
  try {
    return smtp({ url: transport.url, ehloName: transport.ehloName, connections, ...options })
  } catch (error) {
    if (!isMailkeepError(error, 'validation_failed')) throw error
    throw new CliError(`MAILKEEP_SMTP_URL is wrong: ${error.message}`)
  }
}
