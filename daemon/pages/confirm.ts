import { html } from './html.ts'
import { buttonForm, type Content, type Page, paragraph, type Visit } from './layout.ts'

/** A page with one button, by which a contact joins a list with double opt-in. */
export const confirmPage: Page = {
  async show(visit) {
    const { contact, listId, client, say } = visit
    const { name: list } = await client.lists.get(listId!)
    if (contact.lists.some(({ id }) => id === listId)) return confirmed(visit, list)
    const question = paragraph(say('confirm_text', { email: contact.email, list }))
    return { title: say('confirm_title'), body: html`${question}${buttonForm('confirm', say('confirm_button'))}` }
  },

  async submit(visit) {
    const { contact, listId, client } = visit
    await client.contacts.confirm(listId!, contact.id)
    return confirmed(visit, (await client.lists.get(listId!)).name)
  },
}

function confirmed({ contact: { email }, say }: Visit, list: string): Content {
  return { title: say('confirmed_title'), body: html`${paragraph(say('confirmed_text', { email, list }))}` }
}
