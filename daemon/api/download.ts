import type { ErrorLog } from './api-options.ts'
import { encode, type Recipient } from './encode.ts'
import type { ApiResponse } from './exchange.ts'
import { foreseen } from './failure.ts'
import type { Download } from './routes/route.ts'

/** An answer that is a file: it is made while it is sent. */
export function encodeDownload(
  to: Recipient,
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
    throw foreseen(error, requestId, logger)
  }
}
