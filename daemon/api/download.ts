import type { ErrorLog } from './api-options.ts'
import { encode, type ResponseContext } from './encode.ts'
import { toPublicError } from './errors.ts'
import type { ApiResponse } from './http-types.ts'
import type { RouteResult } from './routes/route.ts'

/** Encodes an answer that is a file. The file is produced while it is sent. */
export function encodeDownload(
  context: ResponseContext,
  { status, download, headers }: RouteResult,
  logger: ErrorLog,
): ApiResponse {
  const { name, contentType, text } = download!
  const response = encode(context, status, undefined, {
    'Content-Type': contentType,
    ...(name !== undefined && { 'Content-Disposition': `attachment; filename="${name}"` }),
    ...headers,
  })
  return context.method === 'HEAD' ? response : { ...response, stream: logErrors(text, context.requestId, logger) }
}

/** Logs an error of the stream. The client only sees that the file is cut off. */
async function* logErrors(text: AsyncIterable<string>, requestId: string, logger: ErrorLog) {
  try {
    yield* text
  } catch (error) {
    throw toPublicError(error, requestId, logger)
  }
}
