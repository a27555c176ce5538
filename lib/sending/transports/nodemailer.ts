/** Loads nodemailer when the first message is sent, and converts messages to its options. */
import { invalid } from '../../errors.ts'
import { oneLine } from '../escape.ts'
import type { MailMessage } from '../transport.ts'

/** Options of nodemailer for one message. Addresses are objects, so nodemailer does not parse text for further addresses. */
export function mailOptions({ from, to, replyTo, subject, html, text, headers }: MailMessage) {
  const { 'Message-ID': messageId, ...others } = headers
  return {
    // As a prepared header it would make nodemailer's pool throw outside of any promise.
    messageId,
    // Nodemailer would write line breaks encoded, and mail programs decode them.
    from: { name: headerText(from.name), address: from.email },
    to: { name: headerText(to.name ?? ''), address: to.email },
    replyTo: replyTo === undefined ? undefined : { name: '', address: replyTo },
    subject: withoutEncodedWords(subject),
    html: withMailLines(html),
    text: withMailLines(text),
    // Prepared headers are written as they are. Nodemailer would fold List-Unsubscribe, which some receivers misread.
    headers: Object.entries(others).map(([key, value]) => ({
      key,
      value: { prepared: true, value: value.replace(/\p{Cc}+/gu, ' ') } as unknown as string,
    })),
    envelope: { from: from.email, to: to.email },
    xMailer: false as const,
    disableFileAccess: true,
    disableUrlAccess: true,
  }
}

function headerText(text: string): string {
  return withoutEncodedWords(oneLine(text))
}

/**
 * Nodemailer writes a text that looks like an encoded word (RFC 2047) as it is, and mail programs would decode it, also to
 * line breaks. With an invisible character inside it is no encoded word, and nodemailer encodes it as any other text.
 */
function withoutEncodedWords(text: string): string {
  return text.replace(/=\?(?=[^?\s]*\?[bq]\?)/gi, '=\u2060?')
}

/** Nodemailer keeps the line ends of a content, and RFC 5322, 2.3 knows no other than CR and LF. */
function withMailLines(content: string): string {
  return content.replace(/\r\n?|\n/g, '\r\n')
}

/** Returns the message as RFC 5322 text. */
export async function composeMail(message: MailMessage): Promise<Buffer> {
  const { default: MailComposer } = await import('nodemailer/lib/mail-composer').catch(missing)
  return await new MailComposer(mailOptions(message)).compile().build()
}

/** Bundlers warn about a missing package instead of failing, because the import has a handler of errors. */
export function loadNodemailer(): Promise<typeof import('nodemailer')> {
  return import('nodemailer').catch(missing)
}

function missing(cause: unknown): never {
  const message = 'Sending mail needs the package nodemailer beside mailkeep: npm install nodemailer'
  throw invalid('transport', message, cause)
}
