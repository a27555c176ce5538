/** Exports undici. It is imported at the first delivery. The published package bundles the used parts into this module. */
export { Client, Pool } from 'undici'
