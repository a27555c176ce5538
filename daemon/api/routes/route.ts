import {
  type ClientOperations,
  type ErrorCode,
  type FieldErrors,
  inputLimits,
  type Page,
  type Role,
  type Unchecked,
} from '../../../lib/index.ts'
import type { Fields } from '../body.ts'
import type { BodyName } from '../openapi/bodies.ts'
import type { RecordName } from '../openapi/examples.ts'
import type { Schema } from '../openapi/schema.ts'
import type { Upload } from '../upload.ts'

/** The ids in a path, by parameter name. */
export type Params = Readonly<
  Record<
    | 'tagId'
    | 'contactId'
    | 'listId'
    | 'topicId'
    | 'segmentId'
    | 'newsletterId'
    | 'sequenceId'
    | 'suppressionId'
    | 'endpointId'
    | 'deliveryId'
    | 'recoveryId'
    | 'emailIdentityId'
    | 'tokenId'
    | 'importId',
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
  /** Name of the file; undefined for a stream that is no file. */
  readonly name?: string
  readonly contentType: string
  readonly text: AsyncIterable<string>
}

/** Result of a route. Without `data`, `json` and `download` the answer has no body. */
export interface RouteResult {
  readonly status: number
  readonly data?: unknown
  /** The data, already as JSON text. */
  readonly json?: string
  readonly meta?: Page<unknown>['meta']
  readonly download?: Download
  /** Headers of its own. */
  readonly headers?: Readonly<Record<string, string>>
  /** Whether this is the stored answer to an earlier request with the same key. */
  readonly replayed?: boolean
}

/** Query parameters by name, for the API description. The library validates their values. */
export type QueryDoc = Readonly<
  Record<
    string,
    {
      readonly description: string
      readonly schema: Schema
      readonly example?: unknown
      /** `deepObject`: each field is a parameter of its own, `name[field]`. */
      readonly style?: 'deepObject'
    }
  >
>

/** A success answer, for the API description: a page of records, one record, some records, a file, or no body. */
export type AnswerDoc =
  | { readonly page: RecordName }
  | {
      readonly description: string
      readonly record?: RecordName
      /** Whether the answer is a file of contacts. */
      readonly isFile?: true
      /** Whether browsers save the record as a file. */
      readonly isAttachment?: true
      /** Lines of NDJSON, if the client accepts only those. Then there is `X-Import-Id`, too. */
      readonly rows?: RecordName
    }
  | { readonly description: string; readonly records: RecordName }

/** A route with its description, as data. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path below `/api/v1`. A segment `:name` is an id. */
  readonly path: string
  /** Minimum role of the caller. */
  readonly role: Role
  /** Whether the link of a portal gives access to it. */
  readonly inPortal?: true
  /** Whether its answer links to the console. */
  readonly needsConsole?: true
  /** `operationId` of the description. Generated clients use it as the function's name. */
  readonly name: string
  readonly summary: string
  readonly description?: string
  /** Query parameters. Every other parameter is refused. */
  readonly query?: QueryDoc
  /** The JSON body's schema, or `file` for a file of any length. Without it every field is refused. */
  readonly body?: BodyName | 'file'
  /** Success answers by status. */
  readonly answers: Readonly<Record<number, AnswerDoc>>
  /** Error codes that cannot be derived from the route, for the description. */
  readonly errors?: readonly ErrorCode[]
  /** Errors in the description's example of 422. Default: those of the body or the query. */
  readonly refused?: FieldErrors
  /**
   * How a POST honours `Idempotency-Key`. Default: the key commits with the operation. `afterwards`: the operation calls
   * another service, so its answer is stored after it. `none`: the key is ignored.
   */
  readonly key?: 'afterwards' | 'none'
  /** `none` for a listing whose `meta` has no `path`. */
  readonly metaPath?: 'none'
  /**
   * Whether the answer can have megabytes, or take seconds; or the query parameter with which it can. Only a few such
   * answers are built concurrently.
   */
  readonly large?: true | 'count' | 'counts'
  readonly call: (call: Call) => Promise<RouteResult>
}

/** Query parameters of every listing. */
export const paging: QueryDoc = {
  per_page: {
    description: 'Maximum records of a page.',
    schema: {
      type: 'integer',
      minimum: 1,
      maximum: inputLimits.pageRecords,
      default: inputLimits.usualPageRecords,
    },
  },
  cursor: {
    description: '`next_cursor` or `prev_cursor` of a page of the same listing.',
    schema: { type: 'string' },
    example: 'bmV4dDo3',
  },
}

/** Query parameter of the listings of lists, topics and tags. */
export const counts: QueryDoc = {
  counts: {
    description: 'Whether each record has `contacts_count`. `1` and `0` are accepted too.',
    schema: { type: 'boolean', default: false },
  },
}

/** Describes the answer of `noContent`. */
export const deleted: AnswerDoc = { description: 'Deleted.' }

/** @param done Resolves when it is deleted. */
export async function noContent(done: Promise<void>): Promise<RouteResult> {
  await done
  return { status: 204 }
}

export function ok(data: unknown): RouteResult {
  return { status: 200, data }
}

/** @param json The data, as JSON text. */
export function okJson(json: string): RouteResult {
  return { status: 200, json }
}

/** @param page Records as JSON text. */
export function listingJson({ data, meta }: Page<string>): RouteResult {
  return { status: 200, json: `[${data.join(',')}]`, meta }
}

export function created(data: unknown): RouteResult {
  return { status: 201, data }
}

export function accepted(data: unknown): RouteResult {
  return { status: 202, data }
}

export function listing({ data, meta }: Page<unknown>): RouteResult {
  return { status: 200, data, meta }
}
