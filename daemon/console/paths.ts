/** The routes of the API's client, as openapi-fetch takes them: by path and method. */
import type { components } from '../client/api.ts'

type Routes = components['schemas']['Routes']

type Named<Text> = Text extends `${string}{${infer Id}}${infer Rest}` ? Id | Named<Rest> : never

type Parameters<Path, Route> = ([Named<Path>] extends [never]
  ? unknown
  : { readonly path: { readonly [Id in Named<Path>]: number } }) &
  (Route extends { query: infer Query } ? { readonly query?: Query } : unknown)

type RequestBody<Route> = Route extends { body: infer Body }
  ? Record<never, never> extends Body
    ? { readonly requestBody?: Json<Body> }
    : { readonly requestBody: Json<Body> }
  : unknown

interface Json<Value> {
  readonly content: { readonly 'application/json': Value }
}

type Operation<Path, Route> = RequestBody<Route> & {
  readonly parameters: Parameters<Path, Route>
  readonly responses: {
    readonly 200: Route extends { answer: infer Answer } ? Json<Answer> : { readonly content?: never }
  }
}

type PathOf<Name> = Name extends `${string} ${infer Path}` ? Path : never

export type Paths = {
  readonly [Path in PathOf<keyof Routes> as `/api/v1${Path}`]: {
    readonly [Name in keyof Routes as Name extends `${infer Method} ${Path}` ? Lowercase<Method> : never]: Operation<
      Path,
      Routes[Name]
    >
  }
}
