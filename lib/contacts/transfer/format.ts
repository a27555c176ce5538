import * as v from 'valibot'

/** Formats of imports and exports: CSV (RFC 4180), or one JSON object per line (ndjson.org). */
export const formats = ['csv', 'ndjson'] as const satisfies readonly Format[]
export type Format = 'csv' | 'ndjson'

export const formatField = { format: v.picklist(formats, 'This must be csv or ndjson.') }
