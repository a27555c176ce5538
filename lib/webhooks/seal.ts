import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { MailkeepError } from '../errors.ts'

/** Keeps secrets unreadable at rest. */
export interface Sealer {
  /** Names the key, so that sealed text tells which one opens it. */
  readonly keyId: string
  /** @param owner What the text belongs to: sealed for one record, it opens for no other. */
  seal(text: string, owner: string): string
  open(sealed: string, owner: string): string
}

/**
 * AES-256-GCM with a fresh 96-bit nonce for each text: `v1.<key id>.<base64url of nonce, tag and cipher text>`.
 *
 * @param key 32 bytes, or base64 of them.
 * @throws MailkeepError `validation_failed` on `encryptionKey` when it is anything else.
 */
export function createSealer(key: Uint8Array | string): Sealer {
  const bytes = typeof key === 'string' ? Buffer.from(key, 'base64') : Buffer.from(key)
  if (bytes.length !== 32) {
    const message = 'The encryption key must be 32 bytes, or base64 of 32 bytes.'
    throw new MailkeepError('validation_failed', message, { errors: { encryptionKey: [message] } })
  }
  const keyId = createHash('sha256').update('mailkeep key id').update(bytes).digest('base64url').slice(0, 12)
  return {
    keyId,
    seal: (text, owner) => `v1.${keyId}.${encrypt(bytes, text, owner).toString('base64url')}`,
    open(sealed, owner) {
      const [version, id, data] = sealed.split('.')
      if (version !== 'v1' || id !== keyId || !data) {
        throw new MailkeepError('internal', 'A stored secret was sealed with another encryption key.')
      }
      return decrypt(bytes, Buffer.from(data, 'base64url'), owner)
    },
  }
}

function encrypt(key: Buffer, text: string, owner: string): Buffer {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(owner))
  const hidden = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), hidden])
}

function decrypt(key: Buffer, data: Buffer, owner: string): string {
  const decipher = createDecipheriv('aes-256-gcm', key, data.subarray(0, 12), { authTagLength: 16 })
  decipher.setAAD(Buffer.from(owner)).setAuthTag(data.subarray(12, 28))
  return decipher.update(data.subarray(28), undefined, 'utf8') + decipher.final('utf8')
}
