import type { IdentityStatus } from './schema.ts'

/**
 * An email delivery provider that verifies sender addresses. Its errors count as temporary and change nothing. Only a
 * MailkeepError `validation_failed` means that it is misconfigured, and ends the refresh.
 */
export interface IdentityProvider {
  /** Asks the provider to verify an address. @returns The status after that; undefined when it is not known now. */
  start(email: string): Promise<IdentityStatus | undefined>
  /** @returns The address's status at the provider; undefined when it is not known now. */
  status(email: string): Promise<IdentityStatus | undefined>
}
