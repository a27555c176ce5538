/** undici, loaded for the first delivery. In the published package this module contains what is used of it. */
export { Client, Pool } from 'undici'
