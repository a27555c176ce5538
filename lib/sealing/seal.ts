import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import { isUint8Array } from 'node:util/types'
import { BoundedCache } from '../bounded-cache.ts'
import { invalid, MailkeepError } from '../errors.ts'

/** Encrypts secrets for storage, and decrypts them. */
export interface Sealer {
  /** Id of the current key. Sealed text contains the id of its key. */
  readonly keyId: string
  /** Ids of all keys that it can open with. */
  readonly keyIds: readonly string[]
  /** @param owner Identifies the record of the text. Sealed text can be opened only with the same owner. */
  seal(text: string, owner: string): string
  open(sealed: string, owner: string): string
  /** As `open`, but without the cache: for texts that are large, personal, or rarely read. */
  openOnce(sealed: string, owner: string): string
  /** Whether it has the key of the sealed text. */
  canOpen(sealed: string): boolean
  /** Whether the text is sealed with the current key. */
  isCurrent(sealed: string): boolean
  /** Derives a key of 32 bytes for a purpose from the current key, with HKDF-SHA256 (RFC 5869). */
  deriveKey(purpose: string): Buffer
}

/**
 * Creates a sealer that uses AES-256-GCM with a random 96-bit nonce for each text. The format of sealed text is
 * `v1.<key id>.<base64url of nonce, tag and cipher text>`.
 *
 * @param key 32 bytes, or base64 of them.
 * @param previousKeys Earlier keys, which can still open texts until these are re-encrypted.
 * @throws MailkeepError `validation_failed` on `encryptionKey` or `previousEncryptionKeys`: a key is anything else.
 */
export function createSealer(key: EncryptionKey, previousKeys: readonly EncryptionKey[] = []): Sealer {
  const bytes = bytesOf(key)
  const keyId = idOf(bytes)
  const all = [...previousKeys.map((each) => bytesOf(each, 'previousEncryptionKeys')), bytes]
  // Ciphers take twice as long with a Buffer as key (Node 24).
  const keys = new Map(all.map((each) => [idOf(each), createSecretKey(each)]))
  const current = keys.get(keyId)!
  const opened = new BoundedCache<string, string>(1000)
  const openOnce = (sealed: string, owner: string) => {
    const [version, id, data] = sealed.split('.')
    const opening = keys.get(id ?? '')
    if (version !== 'v1' || !opening || !data) {
      throw new MailkeepError('internal', 'A stored secret was sealed with another encryption key.')
    }
    return decrypt(opening, Buffer.from(data, 'base64url'), owner)
  }
  return {
    keyId,
    keyIds: [...keys.keys()],
    seal: (text, owner) => `v1.${keyId}.${encrypt(current, text, owner).toString('base64url')}`,
    open: (sealed, owner) => opened.get(`${sealed} ${owner}`, () => openOnce(sealed, owner)),
    openOnce,
    canOpen: (sealed) => keys.has(keyIdOf(sealed)),
    isCurrent: (sealed) => keyIdOf(sealed) === keyId,
    deriveKey: (purpose) => Buffer.from(hkdfSync('sha256', current, '', `mailkeep ${purpose}`, 32)),
  }
}

function keyIdOf(sealed: string): string {
  return sealed.split('.', 2)[1] ?? ''
}

export type EncryptionKey = Uint8Array | string

function bytesOf(key: EncryptionKey, option = 'encryptionKey'): Buffer {
  const text = typeof key === 'string' ? key : ''
  const bytes = isUint8Array(key) ? Buffer.from(key) : Buffer.from(text, 'base64')
  if (bytes.length === 32) return bytes
  const missing = key === undefined ? ' It is undefined: is its environment variable set?' : ''
  const subject = option === 'encryptionKey' ? 'The encryption key' : 'A previous encryption key'
  const message = `${subject} must be 32 bytes, or base64 of 32 bytes.${missing} Make one with: openssl rand -base64 32`
  throw invalid(option, message)
}

/**
 * Returns the id of an encryption key, which the database stores.
 *
 * @throws MailkeepError `validation_failed` on `encryptionKey`: it is not 32 bytes, or base64 of them.
 */
export function encryptionKeyId(key: EncryptionKey): string {
  return idOf(bytesOf(key))
}

/** Returns an id that identifies the key without revealing it. */
function idOf(key: Buffer): string {
  return createHash('sha256').update('mailkeep key id').update(key).digest('base64url').slice(0, 12)
}

function encrypt(key: KeyObject, text: string, owner: string): Buffer {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(owner))
  const hidden = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), hidden])
}

function decrypt(key: KeyObject, data: Buffer, owner: string): string {
  const decipher = createDecipheriv('aes-256-gcm', key, data.subarray(0, 12), { authTagLength: 16 })
  decipher.setAAD(Buffer.from(owner)).setAuthTag(data.subarray(12, 28))
  return decipher.update(data.subarray(28), undefined, 'utf8') + decipher.final('utf8')
}
