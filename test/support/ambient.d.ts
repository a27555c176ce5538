/** @hono/node-server uses this name, but @types/node does not declare it. */
type RequestInfo = string | URL | Request

/** Names of the DOM in the types of playwright-core. With the whole DOM, the compiler would accept it everywhere. */
interface Node {
  readonly nodeType: number
}
interface HTMLElement extends Node {
  readonly hidden: boolean
}
interface SVGElement extends Node {
  readonly id: string
}
interface HTMLElementTagNameMap {
  readonly div: HTMLElement
}
declare function getComputedStyle(
  element: HTMLElement | SVGElement,
): Readonly<
  Record<'accentColor' | 'backgroundColor' | 'color' | 'direction' | 'display' | 'outline' | 'verticalAlign', string>
>

/** The part of Koa that the tests use. @types/koa does not compile next to Express 5's content-disposition. */
declare module 'koa' {
  import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'

  namespace Koa {
    interface Context {
      readonly req: IncomingMessage
      readonly res: ServerResponse
      readonly request: object
      readonly url: string
      readonly originalUrl: string
      readonly protocol: string
      readonly path: string
      respond?: boolean
      body: unknown
      throw(status: number, message: string, properties: object): never
    }
    type Middleware = (ctx: Context, next: () => Promise<void>) => unknown
  }

  class Koa {
    silent: boolean
    use(middleware: Koa.Middleware): this
    callback(): RequestListener
  }
  export default Koa
}

/** postal-mime uses the types of these classes, of which @types/node declares only the values. */
type TextEncoder = InstanceType<typeof globalThis.TextEncoder>
type TextDecoder = InstanceType<typeof globalThis.TextDecoder>
