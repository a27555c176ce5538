/** The pages with one button: to unsubscribe, and to confirm. */
import { html } from './html.ts'
import { buttonForm, type Content, type Page, paragraph, type Say } from './layout.ts'

/** A page with one button, and one to undo. */
export const unsubscribePage: Page = {
  async show({ contact, say }) {
    return contact.unsubscribed_at === null ? question(say) : unsubscribed(say)
  },

  async submit({ contact: { id }, client, say }, form) {
    if (form.get('action') === 'resubscribe') {
      await client.contacts.resubscribe(id)
      return { title: say('resubscribed_title'), body: html`${paragraph(say('resubscribed_text'))}` }
    }
    await client.contacts.unsubscribe(id, { byContact: true })
    return unsubscribed(say)
  },
}

function question(say: Say): Content {
  return {
    title: say('unsubscribe_title'),
    body: html`${paragraph(say('unsubscribe_text'))}${buttonForm('unsubscribe', say('unsubscribe_button'))}`,
  }
}

export function unsubscribed(say: Say): Content {
  return {
    title: say('unsubscribed_title'),
    body: html`${paragraph(say('unsubscribed_text'))}${paragraph(say('resubscribe_hint'), 'hint')}${buttonForm(
      'resubscribe',
      say('resubscribe_button'),
      'plain',
    )}`,
  }
}

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
