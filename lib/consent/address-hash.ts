import { createHmac, type KeyObject } from 'node:crypto'
import type { Context } from '../context.ts'
import { loadStoredKey } from '../sealing/stored-key.ts'

/** Hashes addresses, so that an erased one can be recognised but not read. */
export interface AddressHash {
  /** Loads the key. Must be called before `of`. */
  load(ctx: Context): Promise<void>
  /**
   * Returns HMAC-SHA256 over the client's id and the address, in base64url.
   *
   * @param emailKey The folded address.
   */
  of(clientId: number, emailKey: string): string
}

export function addressHash(): AddressHash {
  let key: KeyObject
  return {
    async load(ctx) {
      key = await loadStoredKey(ctx, 'address_hash_key')
    },
    of: (clientId, emailKey) => createHmac('sha256', key).update(`${clientId} ${emailKey}`).digest('base64url'),
  }
}
