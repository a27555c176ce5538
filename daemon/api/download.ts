import type { ErrorLog } from './api-options.ts'
import { encode, type ResponseContext } from './encode.ts'
import { toPublicError } from './errors.ts'
import type { ApiResponse } from './http-types.ts'
import type { Download } from './routes/route.ts'

/** An answer that is a file: it is made while it is sent. */
export function encodeDownload(
  to: ResponseContext,
  status: number,
  { name, contentType, text }: Download,
  logger: ErrorLog,
): ApiResponse {
  const response = encode(to, status, undefined, {
    'Content-Type': contentType,
    'Content-Disposition': `attachment; filename="${name}"`,
  })
  return to.method === 'HEAD' ? response : { ...response, stream: watched(text, to.requestId, logger) }
}

/** Who gets the answer sees it cut off: why, only the log can tell. */
async function* watched(text: AsyncIterable<string>, requestId: string, logger: ErrorLog) {
  try {
    yield* text
  } catch (error) {
    throw toPublicError(error, requestId, logger)
  }
}
