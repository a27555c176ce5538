import { shownDatabase } from '../database-url.ts'
import { type Command, withMailkeep } from './command.ts'

export const migrate: Command = {
  usage: 'migrate',
  about: 'Bring the database up to date, making it if need be',
  run: async (invocation) => {
    // Opening is migrating.
    await withMailkeep(invocation, async () => {}, { create: true })
    const database = shownDatabase(invocation.config.database)
    invocation.print({ json: { database, migrated: true }, text: `${database} is up to date` })
  },
}
