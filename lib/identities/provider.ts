import type { IdentityStatus } from './schema.ts'

/**
 * Who verifies sender addresses: an email delivery provider. What it throws is taken for a fault that passes, and
 * changes nothing; only a MailkeepError `validation_failed` says that it is set up wrongly, and ends the refresh.
 */
export interface IdentityProvider {
  /** Asks the provider to verify an address. @returns the status after that; undefined: it cannot tell now. */
  start(email: string): Promise<IdentityStatus | undefined>
  /** @returns what the provider says of the address; undefined: it cannot tell now. */
  status(email: string): Promise<IdentityStatus | undefined>
}
