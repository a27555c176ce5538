import { createHmac } from 'node:crypto'
import { type KeyStore, loadStoredKey } from '../sealing/stored-key.ts'

/** Hashes addresses, so that an erased one can be recognised but not read. */
export interface AddressHash {
  /**
   * Returns HMAC-SHA256 over the client's id and the address, in base64url.
   *
   * @param emailKey The folded address.
   */
  of(clientId: number, emailKey: string): string
}

export async function loadAddressHash(store: KeyStore): Promise<AddressHash> {
  const key = await loadStoredKey(store, 'address_hash_key')
  return {
    of: (clientId, emailKey) => createHmac('sha256', key).update(`${clientId} ${emailKey}`).digest('base64url'),
  }
}
