/** Maps errors of an SMTP session to outcomes of the message. */
import { withoutAddresses } from '../../logger.ts'
import type { MailOutcome } from '../transport.ts'

/** The used part of nodemailer's errors. */
export interface SmtpError extends Error {
  readonly code?: string
  /** The reply of the server; missing if the connection failed. */
  readonly responseCode?: number
  readonly response?: string
  /** The command that failed: `MAIL FROM`, `RCPT TO`, `DATA`, `CONN`, `API` … */
  readonly command?: string
}

/** Replies that concern this mailkeep's login or TLS, not the message. RFC 4954, 6 and RFC 3207, 4. */
const sessionReplies: readonly unknown[] = [503, 530, 534, 535, 538]

/**
 * The same in words: servers refuse a recipient with 550 or 554 where a login is missing, or the name or address of this
 * host is not accepted. A correction of the settings helps, so the message is tried again.
 */
const sessionText =
  /\brelay(?:ing)?\b.{0,30}\b(?:denied|not permitted|not allowed|disallowed|prohibited)|\b(?:(?:un|not )able|permitted|allowed) to relay\b|\brcpthosts\b|\brecipient address rejected: access denied|\bauthentication (?:is )?required|\bnot logged in\b|\b(?:helo command|client host) rejected\b/i

/** The sender's account has used up what it may send in an hour or a day. Providers refuse with 5xx, and take mail later. */
const accountText =
  /\b5\.4\.5\b|\b(?:sending|send|daily|hourly|relay)\b.{0,20}\b(?:limit|quota)\b|\bmax emails per hour\b/i

/** RFC 3463: the address is refused, whatever the words say. */
const addressStatus = /\b5\.1\.1?\d\b/

/** RFC 3463: bad mailbox, bad domain, bad syntax, mailbox moved, domain without mail (RFC 7505). */
const unknownMailboxStatus = /\b5\.1\.(?:1|2|3|6|10)\b/

/** Used where the server sends no status of RFC 3463: a bare 550 may also mean that it refuses the content. */
const unknownMailboxText =
  /(?:user|mailbox|recipient|address|account)\b.{0,40}\b(?:unknown|not found|does(?: not|n't) exist|unavailable)|no such (?:user|mailbox|recipient|address)|(?:unknown|invalid) (?:user|mailbox)|unknown recipient/i

/** A refusal of the sender, its server or the content. It may say `no such user` of the sender's address. */
const otherReason = /\b(?:sender|spf|dkim|dmarc|spam|policy|blocked|too many)\b/i

const maxErrorCharacters = 500

/** Maps a refusal of the message to `permanent`, and everything else to `temporary`. */
export function outcomeOf(error: SmtpError, recipient: string): MailOutcome {
  const text = withoutAddresses(replyTo(error) ?? error.message).slice(0, maxErrorCharacters)
  if (!isRefusal(error)) return { kind: 'temporary', error: text }
  const unknownMailbox =
    error.command !== 'MAIL FROM' && isUnknownMailbox(error) && !isUnreadable(recipient, error.response ?? '')
  return { kind: 'permanent', error: text, unknownMailbox }
}

/** Whether the server may only not know SMTPUTF8 (RFC 6531): it then refuses the syntax of an address with other letters. */
function isUnreadable(recipient: string, response: string): boolean {
  return /[^\p{ASCII}]/u.test(recipient) && /\b5\.1\.3\b/.test(response)
}

/**
 * Returns the server's own reply to a command of this message. Nodemailer's text says that all recipients were rejected,
 * or that the server closed the connection: the latter for a 421 to one of several commands that were sent together.
 */
function replyTo({ code, command, response }: SmtpError): string | undefined {
  const isOfMessage = code === 'EENVELOPE' || code === 'EMESSAGE' || (code === 'ECONNECTION' && command === 'CONN')
  return isOfMessage ? response?.trim() || undefined : undefined
}

/** A 5xx reply to a command of this message, or a message that nodemailer cannot send to this server at all. */
function isRefusal({ code, responseCode, response = '', command }: SmtpError): boolean {
  if (code !== 'EENVELOPE' && code !== 'EMESSAGE') return false
  if (responseCode === undefined) return command === 'API' || code === 'EMESSAGE'
  if (responseCode < 500 || sessionReplies.includes(responseCode)) return false
  return addressStatus.test(response) || !(sessionText.test(response) || accountText.test(response))
}

function isUnknownMailbox({ responseCode, response = '' }: SmtpError): boolean {
  if (/\b5\.\d{1,3}\.\d{1,3}\b/.test(response)) return unknownMailboxStatus.test(response)
  return [550, 551, 553].includes(responseCode ?? 0) && unknownMailboxText.test(response) && !otherReason.test(response)
}
