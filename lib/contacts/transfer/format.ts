import * as v from 'valibot'

/** Of imports and exports: CSV (RFC 4180), or a JSON object a line (ndjson.org). */
export const formats = ['csv', 'ndjson'] as const satisfies readonly Format[]
export type Format = 'csv' | 'ndjson'

export const formatField = { format: v.picklist(formats, 'This must be csv or ndjson.') }
