/** mailkeep/postgres: databases of PostgreSQL, through pg. */
export { type PostgresOptions, type PostgresPool, postgres } from './storage/postgres.ts'
