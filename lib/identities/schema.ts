import * as v from 'valibot'
import { inputLimits } from '../limits.ts'
import { type PageInput, pageFields } from '../page.ts'
import { atMost, closedObject, EmailAddress, Text } from '../parse.ts'
import { described, Email, Id, type RecordFields, recordFrom, Time, Uuid } from '../record.ts'
import type { Timestamp } from '../time.ts'

export const identityStatuses = ['pending', 'verifying', 'verified', 'failed'] as const
export type IdentityStatus = (typeof identityStatuses)[number]

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

/** A sender address. */
export interface Identity {
  id: number
  uuid: string
  email: string
  name: string
  domain: string
  identity_status: IdentityStatus
  /** Null unless verified. */
  verified_at: Timestamp | null
  created_at: Timestamp
  updated_at: Timestamp
}

export interface IdentityInput {
  readonly email: string
  /** The sender's name, at most 255 characters; default `''`. */
  readonly name?: string | undefined
  /** Default `pending`. */
  readonly status?: IdentityStatus | undefined
}

export interface IdentityQueryInput extends PageInput {
  readonly identity_status?: IdentityStatus | undefined
}

const Status = v.picklist(identityStatuses, `This must be one of ${identityStatuses.join(', ')}.`)

export const NewIdentity = closedObject({
  email: EmailAddress,
  name: v.optional(v.pipe(Text, atMost(inputLimits.nameCharacters)), ''),
  status: v.optional(Status, 'pending'),
})

export const IdentityQuery = closedObject({ identity_status: v.optional(Status), ...pageFields })

export const identityFields: RecordFields<Identity> = {
  id: Id,
  uuid: Uuid,
  email: described(Email, 'The sender’s address.'),
  name: described(v.string(), 'The display name.'),
  domain: described(v.string(), 'Domain of the address.'),
  identity_status: v.picklist(identityStatuses),
  verified_at: described(v.nullable(Time), 'null unless verified.'),
  created_at: Time,
  updated_at: Time,
}

export const identityFrom = recordFrom(identityFields)
