import { createHmac } from 'node:crypto'
import type { Context } from '../context.ts'
import { type KeyStore, loadStoredKey } from '../sealing/stored-key.ts'
import { withUnicodeDomain } from '../spelling.ts'

/** Hashes addresses, so that an erased one can be recognised but not read. */
export interface AddressHash {
  /**
   * Returns HMAC-SHA256 over the client's id and the address, in base64url.
   *
   * @param emailKey The key of the address: see `foldAddress`.
   */
  of(clientId: number, emailKey: string): string
}

export async function loadAddressHash(store: KeyStore): Promise<AddressHash> {
  const key = await loadStoredKey(store, 'address_hash_key')
  return {
    of: (clientId, emailKey) => createHmac('sha256', key).update(`${clientId} ${emailKey}`).digest('base64url'),
  }
}

/**
 * Returns the hashes by which an address of the client may be stored, the current one first. Earlier versions hashed the
 * Unicode form of an internationalised domain.
 */
export function hashesOf({ local }: Context, clientId: number, emailKey: string): string[] {
  const spellings = emailKey.includes('xn--') ? new Set([emailKey, withUnicodeDomain(emailKey)]) : [emailKey]
  return Array.from(spellings, (spelling) => local.addresses.of(clientId, spelling))
}
