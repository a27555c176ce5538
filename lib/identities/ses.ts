/** mailkeep/ses: sender addresses verified by Amazon SES. Its SDK is loaded when the first address is asked about. */
import { domainToASCII } from 'node:url'
import { MailkeepError } from '../errors.ts'
import { refuseUnknownNames } from '../unknown-names.ts'
import type { IdentityProvider } from './provider.ts'
import type { IdentityStatus } from './schema.ts'

/** What is used of the SDK's `SESv2Client`. */
export interface SesClient {
  send(command: never, options?: { readonly abortSignal?: AbortSignal }): Promise<unknown>
}

export interface SesOptions {
  /** The SDK's `SESv2Client`, with credentials and retries of your own; default: one made at the first use. */
  readonly client?: SesClient
  /** For the default client: `eu-central-1`; default: what the SDK finds in its environment. */
  readonly region?: string
  /** A request that takes longer, the SDK's own retries included, is given up; default 15,000. */
  readonly timeoutMs?: number
}

const optionNames = Object.keys({ client: true, region: true, timeoutMs: true } satisfies Record<
  keyof SesOptions,
  true
>)

/** What is used of `@aws-sdk/client-sesv2`. */
interface Sdk {
  readonly SESv2Client: new (settings: { region?: string }) => SesClient
  readonly CreateEmailIdentityCommand: new (input: { EmailIdentity: string }) => object
  readonly GetEmailIdentityCommand: new (input: { EmailIdentity: string }) => object
}

/** What is used of GetEmailIdentity's answer: https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_GetEmailIdentity.html */
interface Answer {
  readonly VerificationStatus?: string
  readonly VerifiedForSendingStatus?: boolean
}

type Ask = (operation: 'CreateEmailIdentity' | 'GetEmailIdentity', email: string) => Promise<unknown>

/**
 * Amazon SES, API v2, as `identityProvider`. An address that SES does not know yet is created there, so that SES sends
 * its owner the mail with the link; one it has already is taken as it stands. Needs `@aws-sdk/client-sesv2` beside
 * mailkeep, and the rights `ses:CreateEmailIdentity` and `ses:GetEmailIdentity`.
 *
 * SES knows no such address or has NOT_STARTED: `pending`; PENDING, or SUCCESS while sending is not enabled:
 * `verifying`; SUCCESS: `verified`; FAILED: `failed`; TEMPORARY_FAILURE: the status stays.
 *
 * @throws MailkeepError `validation_failed` on an unknown option; and from `refreshIdentities()`: the SDK cannot be loaded.
 * @example
 * const mailkeep = await createMailkeep({ database, encryptionKey, identityProvider: ses({ region: 'eu-central-1' }) })
 */
export function ses(options: SesOptions = {}): IdentityProvider {
  refuseUnknownNames(options, optionNames)
  let opening: Promise<Ask> | undefined
  const ask: Ask = async (operation, email) => {
    opening ??= open(options).catch((error) => {
      opening = undefined // It may be installed by the next time.
      throw error
    })
    return (await opening)(operation, email)
  }
  const status = async (email: string) => {
    const answer = await unless('NotFoundException', ask('GetEmailIdentity', email))
    return answer === undefined ? 'pending' : statusOf(answer as Answer)
  }
  return {
    status,
    async start(email) {
      await unless('AlreadyExistsException', ask('CreateEmailIdentity', email))
      return status(email)
    },
  }
}

async function open({ client, region, timeoutMs = 15_000 }: SesOptions): Promise<Ask> {
  const sdk = await load()
  const opened = client ?? new sdk.SESv2Client(region === undefined ? {} : { region })
  return async (operation, email) => {
    const command = new sdk[`${operation}Command`]({ EmailIdentity: withAsciiDomain(email) })
    // The SDK itself waits for an answer for ever.
    return await opened.send(command as never, { abortSignal: AbortSignal.timeout(timeoutMs) })
  }
}

async function load(): Promise<Sdk> {
  try {
    // @ts-expect-error an optional peer: a hundred packages that nothing else here needs
    return await import('@aws-sdk/client-sesv2')
  } catch (cause) {
    const message = 'Amazon SES needs its SDK beside mailkeep: npm install @aws-sdk/client-sesv2'
    throw new MailkeepError('validation_failed', message, { errors: { identityProvider: [message] }, cause })
  }
}

/** @returns undefined when it fails with this error. */
async function unless<T>(name: string, asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked
  } catch (error) {
    if ((error as Error | undefined)?.name === name) return undefined
    throw error
  }
}

function statusOf({ VerificationStatus, VerifiedForSendingStatus }: Answer): IdentityStatus | undefined {
  if (VerificationStatus === 'NOT_STARTED') return 'pending'
  if (VerificationStatus === 'PENDING') return 'verifying'
  if (VerificationStatus === 'FAILED') return 'failed'
  // Proven, but mail from it would be refused still: nobody may take it for ready.
  if (VerificationStatus === 'SUCCESS') return VerifiedForSendingStatus ? 'verified' : 'verifying'
  return undefined // TEMPORARY_FAILURE, and what SES may come to say: it cannot tell now
}

/** SES takes the domains of internationalised addresses in Punycode only. */
function withAsciiDomain(email: string): string {
  const at = email.lastIndexOf('@') + 1
  return email.slice(0, at) + (domainToASCII(email.slice(at)) || email.slice(at))
}
