/** mailkeep/http: the HTTP API for a server that is there already. */
export type { Authenticate } from './authenticate.ts'
export { type Api, type ApiOptions, type ApiRequest, type ApiResponse, createApi } from './index.ts'
export type { MountOptions } from './mount.ts'
export { createHandler, type FastifyPair, type Handler, type HostRequest, type KoaContext } from './node.ts'
export { createFetchHandler, type FetchHandler } from './web.ts'
