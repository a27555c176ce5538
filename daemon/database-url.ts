const postgresUrl = /^postgres(?:ql)?:/i

/** @returns Whether the setting is a PostgreSQL URL. */
export function isServer(database: string): boolean {
  return postgresUrl.test(database)
}

/** @returns Whether a database URL contains a password. Also works for malformed URLs. */
export function holdsPassword(url: string): boolean {
  const user = /^\w+:\/\/([^?]*)@/s.exec(url)?.[1]
  return user?.includes(':') === true || /[?&]\w*password=/i.test(url)
}

/** Returns a database's name for messages. A URL is reduced to user, host and database. */
export function shownDatabase(database: string): string {
  if (!isServer(database)) return database
  if (!URL.canParse(database)) return 'the PostgreSQL database'
  const { protocol, username, host, pathname } = new URL(database)
  return `${protocol}//${username === '' ? '' : `${username}@`}${host}${pathname}`
}
