import { type ClientMailkeep, type Contact, isMailkeepError } from '../../lib/index.ts'
import { CliError } from '../cli-error.ts'
import {
  type Command,
  clientFlag,
  collectRecords,
  findOwner,
  idFrom,
  naming,
  table,
  withClient,
  withMailkeep,
  yesFlag,
} from './command.ts'

const findContact: Command = {
  usage: 'contact find EMAIL',
  about: 'Show the contact of a client that has an e-mail address, unsubscribed or not',
  examples: { EMAIL: 'ada@example.org' },
  flags: [clientFlag],
  run: async (invocation) => {
    const [email = ''] = invocation.args
    const contact = await withClient(invocation, (client) => contactOf(client, email))
    if (!contact) throw new CliError(`Client ${invocation.flags.client} has no contact with this e-mail address.`)
    invocation.print({ json: contact, text: textOf(contact) })
  },
}

const deleteContact: Command = {
  usage: 'contact delete ID',
  about: 'Erase a contact and every stored copy of its data',
  examples: { ID: '17' },
  flags: [yesFlag, { name: 'suppress', about: 'Leave a keyed hash of the address, so that it cannot be stored again' }],
  run: async (invocation) => {
    const id = idFrom('The contact to delete', invocation.args[0])
    await withMailkeep(invocation, async (mailkeep) => {
      const owner = await findOwner(mailkeep, `contact ${id}`, (client) => client.contacts.get(id))
      const shown = `contact ${id} of client ${owner.clientId}`
      if (invocation.flags.yes === undefined) {
        throw new CliError(`${shown} would be erased, with every stored copy of its data: add --yes to do it.`, 2)
      }
      await owner.client.contacts.delete(id, { suppress: invocation.flags.suppress !== undefined })
      invocation.print({ json: { id, deleted: true }, text: `${shown} is erased` })
    })
  },
}

/** More entries are read with the API, page by page. */
const maxEntries = 1000

const contactHistory: Command = {
  usage: 'contact history CONTACT',
  about: 'Show what changed the lists, topics and subscription of a contact, newest first',
  examples: { CONTACT: 'ada@example.org' },
  flags: [clientFlag],
  notes: ['CONTACT is an id or an e-mail address.', `Shows at most ${maxEntries} entries.`],
  run: async (invocation) => {
    const [contact = ''] = invocation.args
    const key = contact.includes('@') ? { email: contact } : idFrom('CONTACT', contact)
    const entries = await naming({ email: 'CONTACT' }, () => {
      return withClient(invocation, ({ contacts }) => {
        return collectRecords((query) => contacts.history(key, query), maxEntries)
      })
    })
    const rows = entries.map(({ created_at, type, list_id, topic_id, source, token_id, ip }) => [
      created_at,
      type,
      ...(list_id !== null ? ['list', list_id] : topic_id !== null ? ['topic', topic_id] : ['-', '-']),
      token_id === null ? source : `token ${token_id}`,
      ip,
    ])
    invocation.print({ json: entries, text: table(rows, 'no entries') })
  },
}

export const contactCommands: readonly Command[] = [findContact, contactHistory, deleteContact]

/** Finds a contact by its exact address, in any case and spelling of its domain. */
async function contactOf({ contacts }: ClientMailkeep, email: string): Promise<Contact | undefined> {
  if (email.trim() === '') throw new CliError('EMAIL must be an e-mail address.', 2)
  try {
    return (await contacts.list({ email, include_unsubscribed: true })).data[0]
  } catch (error) {
    if (isMailkeepError(error, 'validation_failed')) return undefined // no contact has such an address
    throw error
  }
}

function textOf({ id, email, name, unsubscribed_at, tags, lists, extra_attributes }: Contact): string {
  const names = (records: readonly { name: string }[] | undefined) => (records ?? []).map((one) => one.name).join(', ')
  return table(
    [
      ['id', id],
      ['email', email],
      ['name', name],
      ['subscribed', unsubscribed_at === null ? 'yes' : `no, unsubscribed ${unsubscribed_at}`],
      ['lists', names(lists)],
      ['tags', names(tags)],
      ...Object.entries(extra_attributes ?? {}),
    ],
    '',
  )
}
