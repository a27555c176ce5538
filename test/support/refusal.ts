import { isMailkeepError } from '../../lib/index.ts'

/** Returns a check, for `assert.rejects`, that the library refused a field. */
export const isInvalid = (field: string) => (error: unknown) =>
  isMailkeepError(error, 'validation_failed') && error.issues.some(({ path }) => path === field)
