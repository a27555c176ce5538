import type { ClientOperations, Page, Unchecked } from '../../../lib/index.ts'
import type { Fields } from '../body.ts'
import type { Upload } from '../upload.ts'

/** The ids that paths name. */
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
  /** Decoded, not validated. */
  readonly query: Readonly<Record<string, unknown>>
  /** Decoded, not validated; `{}` without a body. */
  readonly body: Fields
  /** The body of a route that takes a file. */
  readonly upload?: Upload
  /** What the caller would like to get: `Accept`, or `''`. */
  readonly accept: string
}

/** A file to send, made while it is sent. */
export interface Download {
  readonly name: string
  readonly contentType: string
  readonly text: AsyncIterable<string>
}

/** What an operation gave; with neither `data`, `json` nor `download` the answer has no body. */
export interface Outcome {
  readonly status: number
  readonly data?: unknown
  /** The data as JSON text already. */
  readonly json?: string
  readonly meta?: Page<unknown>['meta']
  readonly download?: Download
  /** The first answer to a request that is repeated. */
  readonly replayed?: boolean
}

/** A route is a row of data. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below `/api/v1`; a segment `:name` is an id. */
  readonly path: string
  /** The least role that may call; an admin may do all that a member may. */
  readonly role: 'member' | 'admin'
  /** Whether the query has parameters, which the operation validates. Elsewhere every parameter is refused. */
  readonly hasQuery?: true
  /** `none` where the contract shows no body: fields sent all the same are refused. */
  readonly fields?: 'none'
  /** `file` where the body is a file of any length instead of JSON. */
  readonly takes?: 'file'
  /** `none` where a POST is done again at each repeat, whatever its `Idempotency-Key`: its answer is a secret, or a stream. */
  readonly key?: 'none'
  /** `none` where the contract shows a listing's meta without `path`. */
  readonly metaPath?: 'none'
  /** Whether the answer can have megabytes: few of these are made at a time. */
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
