import { type Format, MailkeepError } from '../../lib/index.ts'
import { mediaTypeOf } from './body.ts'
import { type ApiRequest, declaredBody } from './http-types.ts'

/** A file that is being uploaded. */
export interface Upload {
  readonly format: Format
  readonly source: AsyncIterable<Uint8Array>
}

/** Accepted media types. RFC 7111 defines CSV's. NDJSON has no registered one, so the common ones are accepted. */
export const formatOf: ReadonlyMap<string, Format> = new Map([
  ['text/csv', 'csv'],
  ['application/csv', 'csv'],
  ['application/x-ndjson', 'ndjson'],
  ['application/ndjson', 'ndjson'],
  ['application/jsonl', 'ndjson'],
  ['application/x-jsonlines', 'ndjson'],
])

/**
 * Returns the uploaded file of a request. A request without a body gives an empty file.
 *
 * @throws MailkeepError `unsupported_media_type`
 */
export async function readUpload(request: ApiRequest): Promise<Upload> {
  const declared = declaredBody(request)
  if (declared === 'none') return { format: 'ndjson', source: noBytes() }
  const format = formatOf.get(mediaTypeOf(request) ?? '')
  if (!format && declared === 'bytes') throw unsupported()
  const source = request.stream()
  if (format) return { format, source }
  for await (const chunk of source) if (chunk.length > 0) throw unsupported()
  return { format: 'ndjson', source: noBytes() }
}

async function* noBytes(): AsyncGenerator<Uint8Array> {}

function unsupported(): MailkeepError {
  return new MailkeepError(
    'unsupported_media_type',
    'Imports must be text/csv or application/x-ndjson in UTF-8, not compressed.',
  )
}
