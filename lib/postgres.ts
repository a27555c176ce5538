/** mailkeep/postgres: opens PostgreSQL databases through pg. */
export { type PostgresOptions, type PostgresPool, postgres } from './storage/postgres.ts'
