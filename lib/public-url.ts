import type { Context } from './context.ts'
import { invalid } from './errors.ts'

const noPublicUrl =
  'Links need the URL at which people reach this service: set MAILKEEP_PUBLIC_URL, or the option publicUrl of createMailkeep.'

/** Returns the URL of this service without a slash at its end. @throws MailkeepError `validation_failed` on `public_url` */
export function requirePublicUrl(ctx: Context): string {
  const url = ctx.local.publicUrl()
  if (url === undefined) throw invalid('public_url', noPublicUrl)
  return url.replace(/\/+$/, '')
}
