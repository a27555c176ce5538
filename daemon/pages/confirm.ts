import { html } from './html.ts'
import { buttonForm, type Content, type Page, paragraph, type Say } from './layout.ts'

/** A page with one button, by which a contact joins a list with double opt-in. */
export const confirmPage: Page = {
  async show({ contact, listId, say }) {
    if (contact.lists.some(({ id }) => id === listId)) return confirmed(say)
    const question = paragraph(say('confirm_text'))
    return { title: say('confirm_title'), body: html`${question}${buttonForm('confirm', say('confirm_button'))}` }
  },

  async submit({ contact, listId, client, say }) {
    await client.contacts.confirm(listId!, contact.id)
    return confirmed(say)
  },
}

function confirmed(say: Say): Content {
  return { title: say('confirmed_title'), body: html`${paragraph(say('confirmed_text'))}` }
}
