import type { ContactsApi, Format, Unchecked } from '../../../lib/index.ts'
import type { Outcome } from './route.ts'

export const mediaTypes: Readonly<Record<Format, string>> = { csv: 'text/csv', ndjson: 'application/x-ndjson' }

/** RFC 7111. */
const parametersOf: Readonly<Record<Format, string>> = { csv: 'charset=utf-8; header=present', ndjson: 'charset=utf-8' }

/** The first piece is made before the answer begins: a query that is no good still gets an error. */
export async function exported(
  contacts: Unchecked<ContactsApi>,
  query: Readonly<Record<string, unknown>>,
  accept: string,
): Promise<Outcome> {
  const format = (query.format ?? formatOf(accept)) as Format
  const rest = contacts.export({ ...query, format })
  const first = await rest.next()
  const text = whole(first.value ?? '', rest)
  const contentType = `${mediaTypes[format]}; ${parametersOf[format]}`
  return { status: 200, download: { name: `contacts.${format}`, contentType, text } }
}

/** CSV for those who ask for it and for nothing better; else NDJSON. */
function formatOf(accept: string): Format {
  return /\btext\/csv\b/i.test(accept) && !/\bndjson\b/i.test(accept) ? 'csv' : 'ndjson'
}

async function* whole(first: string, rest: AsyncIterable<string>): AsyncGenerator<string> {
  yield first
  yield* rest
}
