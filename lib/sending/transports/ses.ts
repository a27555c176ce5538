/** Sends mail with Amazon SES. Part of mailkeep/ses. */

import { checkSesOptions, loadSesSdk, type SesClient, type SesOptions } from '../../identities/ses.ts'
import { withoutAddresses } from '../../logger.ts'
import { withAsciiDomain } from '../../spelling.ts'
import { timeLimit } from '../../time-limit.ts'
import { type MailMessage, type MailOutcome, type MailTransport, UncertainError } from '../transport.ts'
import { composeMail } from './nodemailer.ts'

export interface SesMailOptions extends SesOptions {
  /** Configuration set of SES, for its events. */
  readonly configurationSet?: string | undefined
}

const ownNames = Object.keys({ configurationSet: true } satisfies Record<
  Exclude<keyof SesMailOptions, keyof SesOptions>,
  true
>)

/** The used part of the SDK's errors. Without a status, Amazon has not answered. */
interface SesError extends Error {
  readonly $metadata?: { readonly httpStatusCode?: number }
  readonly code?: string
}

/** Errors that concern this one message. All others concern the account or the network, and pass. */
const refusals: readonly string[] = ['MessageRejected', 'BadRequestException']

/** Errors that are thrown before the request is sent: no connection, or the certificate of the other side is wrong. */
const unsentCodes = /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|UNABLE_TO_VERIFY_\w+|\w*CERT\w*)$/

/** Errors of the SDK's settings, which it reads at the first request: credentials, and the region. */
const unsentErrors = /^CredentialsProviderError:|^Error: Region /

/** Errors of the credentials: Amazon SES takes no message with them. */
const loginErrors = /^(?:ExpiredToken|InvalidClientTokenId|InvalidSignature|SignatureDoesNotMatch|UnrecognizedClient)/

/**
 * Sends with the API v2 of Amazon SES. Needs the packages `@aws-sdk/client-sesv2` and `nodemailer`, and the permission
 * `ses:SendEmail`. A client of your own must not retry (`maxAttempts: 1`): SES would send a message twice whose first
 * answer was lost.
 *
 * - `temporary`: throttling, a paused account, an address that is not verified, no connection, or no region.
 * - `permanent`: SES rejects the message. Unknown mailboxes are reported later, by SNS.
 * - UncertainError: the request was sent, and no answer came, or none that can be read.
 *
 * @throws MailkeepError `validation_failed` on an unknown or wrong option; when a message is sent: the SDK cannot be loaded.
 */
export function sesMail(options: SesMailOptions = {}): MailTransport {
  checkSesOptions(options, ownNames)
  const { region, timeoutMs = 15_000, configurationSet } = options
  let client: SesClient | undefined = options.client
  return {
    async send(message, signal) {
      const { SESv2Client, SendEmailCommand } = await loadSesSdk()
      client ??= new SESv2Client({ maxAttempts: 1, ...(region === undefined ? {} : { region }) })
      const command = new SendEmailCommand(await inputFor(message, configurationSet))
      signal.throwIfAborted()
      const limit = timeLimit(timeoutMs, signal)
      try {
        const { MessageId } = (await client.send(command as never, { abortSignal: limit.signal })) as {
          MessageId?: string
        }
        return { kind: 'sent', ...(MessageId === undefined ? {} : { providerMessageId: MessageId }) }
      } catch (error) {
        return outcomeOf(error as SesError)
      } finally {
        limit.end()
      }
    },
    /** Only checks that the SDK is installed. */
    async check() {
      await loadSesSdk()
    },
  }
}

/** https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_SendEmail.html */
async function inputFor(message: MailMessage, configurationSet: string | undefined) {
  return {
    FromEmailAddress: withAsciiDomain(message.from.email),
    Destination: { ToAddresses: [withAsciiDomain(message.to.email)] },
    Content: { Raw: { Data: await composeMail(message) } },
    ...(configurationSet === undefined ? {} : { ConfigurationSetName: configurationSet }),
  }
}

/** @throws UncertainError */
function outcomeOf(error: SesError): MailOutcome {
  const text = withoutAddresses(`${error.name}: ${error.message}`).slice(0, 500)
  const isUnsent = unsentCodes.test(error.code ?? '') || unsentErrors.test(text)
  if (!isUnsent && !isRefusal(error.$metadata?.httpStatusCode)) throw new UncertainError(text, { cause: error })
  const isRefused = refusals.includes(error.name) && !/not verified/i.test(error.message)
  if (isRefused) return { kind: 'permanent', error: text, unknownMailbox: false }
  const isServerDown = isUnsent || error.$metadata?.httpStatusCode === 429 || loginErrors.test(error.name)
  return { kind: 'temporary', error: text, ...(isServerDown ? { isServerDown } : {}) }
}

/**
 * Whether SES answered that it did not accept the message. After a 2xx it did, but its answer cannot be read. A 504 is of a
 * proxy that got no answer from SES.
 */
function isRefusal(status: number | undefined): boolean {
  return status !== undefined && status >= 300 && status !== 504
}
