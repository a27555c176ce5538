import { check, isPlain } from './options.ts'

/** What the URL of a request is made of. */
interface UrlParts {
  /** Path below `/api/v1`, with the names of ids in braces. */
  readonly path: string
  readonly ids?: readonly unknown[]
  readonly query?: object | undefined
}

/** @throws TypeError: an id or a parameter is wrong. A filter that was left out would match every record. */
export function urlOf(baseUrl: string, { path, ids = [], query = {} }: UrlParts): string {
  check(isPlain(query), 'The query must be an object.')
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue
    if (Array.isArray(value)) for (const id of idsOf(name, value)) parameters.append(`${name}[]`, textOf(name, id))
    else if (isPlain(value)) {
      const fields = Object.entries(value)
      check(fields.length > 0, `${name} must not be empty: leave it out.`)
      for (const [field, item] of fields) parameters.append(`${name}[${field}]`, textOf(`${name}.${field}`, item))
    } else parameters.append(name, textOf(name, value))
  }
  return `${baseUrl.replace(/\/+$/, '')}/api/v1${fill(path, ids)}?${parameters}`.replace(/\?$/, '')
}

function textOf(name: string, value: unknown): string {
  if (value instanceof Date) return value.toISOString()
  check(/^(string|number|bigint|boolean)$/.test(typeof value), `${name} must be a text, a number or a boolean.`)
  return String(value)
}

/** No record has this id. */
const noId = Number.MAX_SAFE_INTEGER

/** A filter without ids matches nothing, as in the library. Left out of the query, it would match every record. */
function idsOf(name: string, ids: readonly unknown[]): readonly unknown[] {
  return ids.length === 0 && !name.startsWith('exclude_') ? [noId] : ids
}

function fill(template: string, ids: readonly unknown[]): string {
  let at = 0
  return template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const id = ids[at++]
    check(Number.isSafeInteger(id), `${name} must be the id of a record, not ${String(id)}.`)
    return `${id}`
  })
}
