/** Part of mailkeep/ses: verifies sender addresses with Amazon SES. Loads the AWS SDK at the first request. */
import { invalid } from '../errors.ts'
import { withAsciiDomain } from '../spelling.ts'
import { maxTimerMs } from '../time.ts'
import { refuseUnknownNames } from '../unknown-names.ts'
import type { IdentityProvider, IdentityStatus } from './schema.ts'

/** The used part of the SDK's `SESv2Client`. */
export interface SesClient {
  send(command: never, options?: { readonly abortSignal?: AbortSignal }): Promise<unknown>
}

export interface SesOptions {
  /** The SDK's `SESv2Client`, with your credentials and retries. Default: a client created at first use. */
  readonly client?: SesClient | undefined
  /** Region of the default client, such as `eu-central-1`. Default: the SDK reads it from its environment. */
  readonly region?: string | undefined
  /** Timeout of a request, including the SDK's retries; default 15,000. */
  readonly timeoutMs?: number | undefined
}

const optionNames = Object.keys({ client: true, region: true, timeoutMs: true } satisfies Record<
  keyof SesOptions,
  true
>)

/**
 * @param others Names that the function takes besides those of `SesOptions`.
 * @throws MailkeepError `validation_failed`: an option is unknown or wrong.
 */
export function checkSesOptions(options: SesOptions, others: readonly string[] = []): void {
  refuseUnknownNames(options, [...optionNames, ...others])
  const { client, region = '', timeoutMs = maxTimerMs } = options
  if (client !== undefined && typeof client?.send !== 'function') {
    throw invalid('client', 'client must have the function send, like SESv2Client of the AWS SDK.')
  }
  if (typeof region !== 'string') throw invalid('region', 'region must be a string.')
  if (!(typeof timeoutMs === 'number' && timeoutMs > 0 && timeoutMs <= maxTimerMs)) {
    throw invalid('timeoutMs', 'timeoutMs must be a number of milliseconds above 0.')
  }
}

/** The used part of `@aws-sdk/client-sesv2`. */
interface Sdk {
  readonly SESv2Client: new (settings: { region?: string; maxAttempts?: number }) => SesClient
  readonly SendEmailCommand: new (input: object) => object
  readonly CreateEmailIdentityCommand: new (input: { EmailIdentity: string }) => object
  readonly GetEmailIdentityCommand: new (input: { EmailIdentity: string }) => object
}

/** The used fields of the answer: https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_GetEmailIdentity.html */
interface SesIdentity {
  readonly VerificationStatus?: string
  readonly VerifiedForSendingStatus?: boolean
}

/**
 * Uses Amazon SES (API v2) as `identityProvider`. It creates an address that SES does not know, so that SES sends the
 * owner a mail with a verification link. An existing address keeps its status. Needs the package
 * `@aws-sdk/client-sesv2`, and the permissions `ses:CreateEmailIdentity` and `ses:GetEmailIdentity`.
 *
 * - `pending`: SES does not know the address, or reports NOT_STARTED.
 * - `verifying`: PENDING, or SUCCESS while sending is not enabled.
 * - `verified`: SUCCESS. `failed`: FAILED. Unchanged: TEMPORARY_FAILURE.
 *
 * @throws MailkeepError `validation_failed` on an unknown or wrong option; and from `refreshIdentities()`: the SDK cannot be loaded.
 * @example
 * const mailkeep = await createMailkeep({ database, encryptionKey, identityProvider: ses({ region: 'eu-central-1' }) })
 */
export function ses(options: SesOptions = {}): IdentityProvider {
  checkSesOptions(options)
  const { region, timeoutMs = 15_000 } = options
  let { client } = options
  const ask = async (operation: 'CreateEmailIdentity' | 'GetEmailIdentity', email: string) => {
    const sdk = await loadSesSdk()
    client ??= new sdk.SESv2Client(region === undefined ? {} : { region })
    const command = new sdk[`${operation}Command`]({ EmailIdentity: withAsciiDomain(email) })
    // Without a signal the SDK would wait forever.
    return await client.send(command as never, { abortSignal: AbortSignal.timeout(timeoutMs) })
  }
  const status = async (email: string) => {
    const answer = await undefinedOn('NotFoundException', ask('GetEmailIdentity', email))
    return answer === undefined ? 'pending' : statusOf(answer as SesIdentity)
  }
  return {
    status,
    async start(email) {
      await undefinedOn('AlreadyExistsException', ask('CreateEmailIdentity', email))
      return status(email)
    },
  }
}

/** @throws MailkeepError `validation_failed`: the SDK is not installed. */
export async function loadSesSdk(): Promise<Sdk> {
  try {
    // @ts-expect-error optional peer dependency, because it installs a hundred packages
    return await import('@aws-sdk/client-sesv2')
  } catch (cause) {
    const message = 'Amazon SES needs its SDK beside mailkeep: npm install @aws-sdk/client-sesv2'
    throw invalid('identityProvider', message, cause)
  }
}

/** Awaits a request. @returns undefined when it fails with the error of this name. */
async function undefinedOn<T>(name: string, asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked
  } catch (error) {
    if ((error as Error | undefined)?.name === name) return undefined
    throw error
  }
}

function statusOf({ VerificationStatus, VerifiedForSendingStatus }: SesIdentity): IdentityStatus | undefined {
  if (VerificationStatus === 'NOT_STARTED') return 'pending'
  if (VerificationStatus === 'PENDING') return 'verifying'
  if (VerificationStatus === 'FAILED') return 'failed'
  // With sending disabled SES still refuses mail from a verified address, so it is not ready.
  if (VerificationStatus === 'SUCCESS') return VerifiedForSendingStatus ? 'verified' : 'verifying'
  return undefined // TEMPORARY_FAILURE, or a status that is not known yet
}
