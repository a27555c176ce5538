import { shownDatabase } from '../database-url.ts'
import { type Command, withMailkeep } from './command.ts'

export const migrate: Command = {
  usage: 'migrate',
  about: 'Bring the database up to date, or create it when it is missing',
  run: async (invocation) => {
    // Opening the database migrates it.
    await withMailkeep(invocation, async () => {}, { create: true })
    const database = shownDatabase(invocation.config.database)
    invocation.print({ json: { database, migrated: true }, text: `${database} is up to date` })
  },
}
