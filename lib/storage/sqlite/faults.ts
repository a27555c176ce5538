import { MailkeepError, notFound } from '../../errors.ts'

/** @returns whether another connection holds the database: trying again may help. */
export function isLocked(error: unknown): boolean {
  return error instanceof Error && /^SQLITE_(BUSY|LOCKED)/.test((error as { code?: string }).code ?? '')
}

/** What is the machine's fault and may pass becomes `unavailable`; the rest stays what it is. */
export function failure(error: unknown): unknown {
  const code = error instanceof Error ? ((error as { code?: string }).code ?? '') : ''
  // Every foreign key that a caller can miss is the client's.
  if (code === 'SQLITE_CONSTRAINT_FOREIGNKEY') return notFound('client')
  if (!/^SQLITE_(FULL|IOERR|BUSY|LOCKED|READONLY|CANTOPEN|NOMEM)/.test(code)) return error
  return new MailkeepError('unavailable', `The database cannot be written now (${code}).`, { cause: error })
}
