import { createContext } from 'preact'
import type { MediaType, Operation, Reference } from '../../api/openapi/schema.ts'

/** The parts of OpenAPI 3.1 that the API's description uses. */
export interface Description {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string }
  readonly servers?: readonly { readonly url: string }[]
  readonly tags: readonly { readonly name: string; readonly description?: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly webhooks?: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

/** The description that the page shows. */
export const Described = createContext<Description>({
  info: { title: '', version: '' },
  tags: [],
  paths: {},
  components: {},
})

/** A path or an event with its method. */
export interface Entry {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly operation: Operation
}

/** Returns the operations of each tag, in the order of the description. */
export function groupsOf(description: Description): { name: string; about: string | undefined; entries: Entry[] }[] {
  const entries = entriesOf(description.paths)
  return description.tags
    .map(({ name, description: about }) => ({
      name,
      about,
      entries: entries.filter(({ operation }) => operation.tags.includes(name)),
    }))
    .filter(({ entries }) => entries.length > 0)
}

export function eventsOf(description: Description): Entry[] {
  return entriesOf(description.webhooks ?? {})
}

const methods = ['get', 'post', 'put', 'patch', 'delete']

function entriesOf(paths: Description['paths']): Entry[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const operation = item[method]
      return operation ? [{ id: operation.operationId, method: method.toUpperCase(), path, operation }] : []
    }),
  )
}

/** Returns what a reference names. */
export function resolve<T extends object>(description: Description, value: T | Reference): T {
  if (!('$ref' in value) || typeof value.$ref !== 'string') return value as T
  const [, , kind = '', name = ''] = value.$ref.split('/')
  return description.components[kind]?.[name] as T
}

/** Returns the first example of a content as text. */
export function exampleOf(content: MediaType | undefined): string | undefined {
  if (!content) return undefined
  const value = content.example ?? Object.values(content.examples ?? {})[0]?.value
  if (value === undefined) return undefined
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2)
}
