import { parse } from 'qs'
import { MailkeepError } from '../../lib/index.ts'

/** Three filters of 100 values and some to spare; qs takes quadratic time over positions written out of order. */
const mostParameters = 500

/**
 * Decodes a query string: `lists[]=1`, `lists[0]=1` and `lists=1`, also percent-encoded, all give `lists`.
 * What the values mean is the library's to decide.
 *
 * @param query Without its question mark.
 * @throws MailkeepError `validation_failed`: more than 500 parameters.
 */
export function readQuery(query: string): Record<string, unknown> {
  if (query === '') return {}
  if (countParameters(query) > mostParameters) {
    const message = `A query has at most ${mostParameters} parameters.`
    throw new MailkeepError('validation_failed', message, { errors: { query: [message] } })
  }
  // Objects without a prototype: `__proto__` and `constructor` are names like any other, or nothing.
  return parse(query, { depth: 1, arrayLimit: mostParameters, parameterLimit: mostParameters, plainObjects: true })
}

function countParameters(query: string): number {
  let count = 1
  for (let at = query.indexOf('&'); at >= 0; at = query.indexOf('&', at + 1)) count++
  return count
}
