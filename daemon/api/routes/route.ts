import type { ClientOperations, Page, Unchecked } from '../../../lib/index.ts'
import type { Fields } from '../body.ts'
import type { Upload } from '../upload.ts'

/** The ids in a path, by parameter name. */
export type Params = Readonly<
  Record<
    'tagId' | 'contactId' | 'listId' | 'topicId' | 'endpointId' | 'deliveryId' | 'recoveryId' | 'identityId',
    number
  >
>

/** A decoded request of an authenticated client. */
export interface Call {
  readonly client: Unchecked<ClientOperations>
  readonly params: Params
  /** Decoded but not validated. */
  readonly query: Readonly<Record<string, unknown>>
  /** Decoded but not validated. `{}` without a body. */
  readonly body: Fields
  /** The uploaded file, for routes that take one. */
  readonly upload?: Upload
  /** Value of the `Accept` header, or `''`. */
  readonly accept: string
}

/** A file that is produced while it is sent. */
export interface Download {
  readonly name: string
  readonly contentType: string
  readonly text: AsyncIterable<string>
}

/** Result of a route. Without `data`, `json` and `download` the answer has no body. */
export interface Outcome {
  readonly status: number
  readonly data?: unknown
  /** The data, already as JSON text. */
  readonly json?: string
  readonly meta?: Page<unknown>['meta']
  readonly download?: Download
  /** Whether this is the stored answer to an earlier request with the same key. */
  readonly replayed?: boolean
}

/** A route, described as data. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path below `/api/v1`. A segment `:name` is an id. */
  readonly path: string
  /** Minimum role of the caller. An admin may do everything that a member may. */
  readonly role: 'member' | 'admin'
  /** Whether the route has query parameters. If not, every parameter is refused. */
  readonly hasQuery?: true
  /** `none` for a POST, PUT or PATCH without a body. Any field is refused. */
  readonly fields?: 'none'
  /** `file` when the body is a file of any length instead of JSON. */
  readonly takes?: 'file'
  /** `none` for a POST that ignores `Idempotency-Key`, because its answer has a secret or its request is a stream. */
  readonly key?: 'none'
  /** `none` for a listing whose `meta` has no `path`. */
  readonly metaPath?: 'none'
  /** Whether the answer can have megabytes. Only a few such answers are built concurrently. */
  readonly large?: true
  readonly call: (call: Call) => Promise<Outcome>
}

export const noContent: Outcome = { status: 204 }

export function ok(data: unknown): Outcome {
  return { status: 200, data }
}

/** @param json The data, as JSON text. */
export function okJson(json: string): Outcome {
  return { status: 200, json }
}

/** @param page Records as JSON text. */
export function listingJson({ data, meta }: Page<string>): Outcome {
  return { status: 200, json: `[${data.join(',')}]`, meta }
}

export function created(data: unknown): Outcome {
  return { status: 201, data }
}

export function accepted(data: unknown): Outcome {
  return { status: 202, data }
}

export function listing({ data, meta }: Page<unknown>): Outcome {
  return { status: 200, data, meta }
}
