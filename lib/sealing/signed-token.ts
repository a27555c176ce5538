/** Tokens whose content is readable and signed: their holder can neither alter nor invent one. */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'

const macBytes = 16
const numberBytes = 6

/** Returns the content with its MAC (the first 128 bits of HMAC-SHA256), in base64url. */
export function signToken(key: KeyObject, content: Buffer): string {
  return Buffer.concat([content, macOf(key, content)]).toString('base64url')
}

/** @returns The content; undefined if the token was altered, or its content has another length. */
export function readToken(key: KeyObject, token: string, contentBytes: number): Buffer | undefined {
  const bytes = Buffer.from(token, 'base64url')
  if (bytes.length !== contentBytes + macBytes) return undefined
  if (bytes.toString('base64url') !== token) return undefined // base64url has several spellings of some bytes
  const content = bytes.subarray(0, contentBytes)
  return timingSafeEqual(macOf(key, content), bytes.subarray(contentBytes)) ? content : undefined
}

/** Returns numbers of up to 48 bits, of 6 bytes each. */
export function bytesOfNumbers(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * numberBytes)
  for (const [at, value] of values.entries()) bytes.writeUIntBE(value, at * numberBytes, numberBytes)
  return bytes
}

/** Returns the number at a position of `bytesOfNumbers`, counted from 0. */
export function numberAt(bytes: Buffer, position: number): number {
  return bytes.readUIntBE(position * numberBytes, numberBytes)
}

function macOf(key: KeyObject, content: Buffer): Buffer {
  return createHmac('sha256', key).update(content).digest().subarray(0, macBytes)
}
