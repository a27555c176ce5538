/** mailkeep/http: the HTTP API as a handler for an existing server. */
export type { ErrorLog } from '../api/api-options.ts'
export type { Authenticate } from '../api/authenticate.ts'
export type { ContactPagesOptions } from '../pages/index.ts'
export { type ContactPages, createContactPages } from './contact-pages.ts'
export type { MountOptions } from './mount.ts'
export { createHandler, type FastifyPair, type Handler, type HostRequest, type KoaContext, type Next } from './node.ts'
export { createFetchHandler, type FetchHandler } from './web.ts'
