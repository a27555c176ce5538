const postgresUrl = /^postgres(?:ql)?:/i

/** @returns whether the database is on a server, named by a URL. */
export function isServer(database: string): boolean {
  return postgresUrl.test(database)
}

/** Whether a database's URL tells a password; also of what is no proper URL. */
export function holdsPassword(url: string): boolean {
  const user = /^\w+:\/\/([^?]*)@/s.exec(url)?.[1]
  return user?.includes(':') === true || /[?&]\w*password=/i.test(url)
}

/** A database as it may be shown: of a URL only who, where and which. */
export function shownDatabase(database: string): string {
  if (!isServer(database)) return database
  if (!URL.canParse(database)) return 'the PostgreSQL database'
  const { protocol, username, host, pathname } = new URL(database)
  return `${protocol}//${username === '' ? '' : `${username}@`}${host}${pathname}`
}
