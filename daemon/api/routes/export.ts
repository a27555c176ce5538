import type { ContactsApi, Format, Unchecked } from '../../../lib/index.ts'
import type { RouteResult } from './route.ts'

export const mediaTypes: Readonly<Record<Format, string>> = { csv: 'text/csv', ndjson: 'application/x-ndjson' }

/** Parameters of the media types. RFC 7111 defines CSV's. */
const parametersOf: Readonly<Record<Format, string>> = { csv: 'charset=utf-8; header=present', ndjson: 'charset=utf-8' }

/** Reads the first chunk before the answer begins, so that an invalid query still gets an error answer. */
export async function exported(
  contacts: Unchecked<ContactsApi>,
  query: Readonly<Record<string, unknown>>,
  accept: string,
): Promise<RouteResult> {
  const format = (query.format ?? formatOf(accept)) as Format
  const rest = contacts.export({ ...query, format })
  const first = await rest.next()
  const text = concatenate(first.value ?? '', rest)
  const contentType = `${mediaTypes[format]}; ${parametersOf[format]}`
  return { status: 200, download: { name: `contacts.${format}`, contentType, text } }
}

/** Chooses the format by the `Accept` header: CSV if it names CSV and not NDJSON, otherwise NDJSON. */
function formatOf(accept: string): Format {
  return /\btext\/csv\b/i.test(accept) && !/\bndjson\b/i.test(accept) ? 'csv' : 'ndjson'
}

async function* concatenate(first: string, rest: AsyncIterable<string>): AsyncGenerator<string> {
  yield first
  yield* rest
}
