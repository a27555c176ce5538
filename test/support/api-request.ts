/** Requests for `answer` of the API, which needs no server. */
import { Readable } from 'node:stream'
import type { ApiRequest } from '../../daemon/api/index.ts'

/** Returns both ways of reading the body of a request. */
export function withBody(bytes: Uint8Array = new Uint8Array()): Pick<ApiRequest, 'body' | 'stream'> {
  return { body: async () => bytes, stream: () => Readable.from([bytes]) }
}
