import type { Contact } from '../../lib/index.ts'
import { html } from './html.ts'
import { buttonForm, type Content, type Page, paragraph, type Say } from './layout.ts'

/** A page with one button, and one to undo. */
export const unsubscribePage: Page = {
  async show({ contact, say }) {
    return contact.unsubscribed_at === null ? question(contact, say) : unsubscribed(contact, say)
  },

  async submit({ contact: { id }, client, say }, form) {
    if (form.get('action') === 'resubscribe') {
      const { email } = await client.contacts.resubscribe(id)
      return { title: say('resubscribed_title'), body: html`${paragraph(say('resubscribed_text', { email }))}` }
    }
    return unsubscribed(await client.contacts.unsubscribe(id, { byContact: true }), say)
  },
}

function question({ email }: Contact, say: Say): Content {
  return {
    title: say('unsubscribe_title'),
    body: html`${paragraph(say('unsubscribe_text', { email }))}${buttonForm('unsubscribe', say('unsubscribe_button'))}`,
  }
}

export function unsubscribed({ email }: Pick<Contact, 'email'>, say: Say): Content {
  return {
    title: say('unsubscribed_title'),
    body: html`${paragraph(say('unsubscribed_text', { email }))}${paragraph(say('resubscribe_hint'), 'hint')}${buttonForm(
      'resubscribe',
      say('resubscribe_button'),
      'plain',
    )}`,
  }
}
