/** The pages with one button: to unsubscribe, and to confirm. */
import type { Contact } from '../../lib/index.ts'
import { html } from './html.ts'
import { buttonForm, type Content, type Page, paragraph, type Say, type Visit } from './layout.ts'

/** A page with one button, and one to undo. */
export const unsubscribePage: Page = {
  async show({ contact, say }) {
    return contact.unsubscribed_at === null ? question(say) : unsubscribed(say)
  },

  async submit(visit, form) {
    if (form.get('action') === 'resubscribe') return await resubscribe(visit)
    const { contact, client, say } = visit
    await client.contacts.unsubscribe(contact.id, { byContact: true })
    return unsubscribed(say)
  },
}

async function resubscribe({ contact, client, say }: Visit): Promise<Content> {
  await client.contacts.resubscribe(contact.id)
  return { title: say('resubscribed_title'), body: html`${paragraph(say('resubscribed_text'))}` }
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
    if (contact.lists.some(({ id }) => id === listId)) return joined(contact, say)
    const question = paragraph(say('confirm_text'))
    return { title: say('confirm_title'), body: html`${question}${buttonForm('confirm', say('confirm_button'))}` }
  },

  async submit(visit, form) {
    if (form.get('action') === 'resubscribe') return await resubscribe(visit)
    const { contact, listId, client, say } = visit
    return joined(await client.contacts.confirm(listId!, contact.id), say)
  },
}

/** A member of the list may have unsubscribed from everything since it confirmed. */
function joined({ unsubscribed_at }: Contact, say: Say): Content {
  if (unsubscribed_at !== null) return unsubscribed(say)
  return { title: say('confirmed_title'), body: html`${paragraph(say('confirmed_text'))}` }
}
