import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { dirname, resolve, sep } from 'node:path'
import { reasonOf } from '../cli-error.ts'
import type { Config } from '../config.ts'
import { openTransport } from '../mail.ts'
import { type Finding, fault, ok, warning } from './finding.ts'

/** Mail itself waits longer. People wait for this. */
const timeoutMs = 10_000

/** Checks that mail can be sent: that the server is reachable, that its TLS is right, and that it takes the login. */
export async function checkMail({ mail, database }: Config): Promise<Finding> {
  const { transport } = mail
  if (transport.kind === 'none') return ok('mail', 'is not sent: no transport is set')
  if (transport.kind === 'folder') return await checkFolder(transport.path, dirname(resolve(database)))
  const server = transport.kind === 'ses' ? 'Amazon SES' : `the SMTP server ${new URL(transport.url).host}`
  let opened: ReturnType<typeof openTransport>
  try {
    opened = openTransport(mail, { timeoutMs })
    await opened?.check?.()
    if (transport.kind === 'ses') return ok('mail', 'is sent with Amazon SES; its rights are not checked')
    const hasLogin = new URL(transport.url).username !== ''
    return ok(
      'mail',
      `${server} can be reached${hasLogin ? ', and takes the login' : '; MAILKEEP_SMTP_URL has no login'}`,
    )
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return fault('mail', `${server}: ${message}`, remedyFor((error as { code?: string }).code, message))
  } finally {
    await opened?.close?.()
  }
}

/** @param home The directory of the database, which another check covers. */
async function checkFolder(path: string, home: string): Promise<Finding> {
  try {
    await requireWritable(resolve(path), home)
    return ok('mail', `is written to the folder ${path}, not sent`)
  } catch (error) {
    const remedy = 'set MAILKEEP_MAIL_TRANSPORT to folder:PATH with a folder that this user can write'
    return fault('mail', `cannot be written to the folder ${path}: ${reasonOf(error)}`, remedy)
  }
}

/** Checks the folder, or the first of its parents that exists: the first mail creates the folder. */
async function requireWritable(path: string, home: string): Promise<void> {
  if (path === home) return
  try {
    await access(path.endsWith(sep) ? path : `${path}${sep}`, constants.W_OK)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    await requireWritable(dirname(path), home)
  }
}

/** Checks that people can follow the links in their mails. */
export function checkLinks({ mail: { transport }, publicUrl }: Config): Finding[] {
  if (transport.kind === 'none' || transport.kind === 'folder') return []
  if (publicUrl !== undefined) return [ok('links', `in mails lead to ${publicUrl}`)]
  const message = 'in mails lead nowhere, or to this machine only'
  return [warning('links', message, 'set MAILKEEP_PUBLIC_URL to the URL at which people reach this service')]
}

function remedyFor(code: string | undefined, message: string): string {
  if (code === 'EAUTH')
    return 'correct the user and the password in MAILKEEP_SMTP_URL, or leave them out if the server offers no login'
  if (code === 'ETLS')
    return 'the server must offer STARTTLS with a valid certificate, or use smtps:// in MAILKEEP_SMTP_URL'
  if (code === 'validation_failed')
    return 'install the package, or use MAILKEEP_SMTP_URL, which also reaches Amazon SES'
  if (/wrong version number|Greeting never received/.test(message))
    return 'check MAILKEEP_SMTP_URL: smtps:// is for TLS from the start, as on port 465, and smtp:// for the ports 587 and 25'
  if (/certificate/.test(message))
    return 'the certificate must be valid for this host; for an authority of your own set NODE_EXTRA_CA_CERTS to its file'
  return 'check the host and the port in MAILKEEP_SMTP_URL, and the firewall'
}
