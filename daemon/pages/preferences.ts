import type { ListPreferences, Preferences, PreferencesInput, TopicPreference } from '../../lib/index.ts'
import { unsubscribed } from './button-pages.ts'
import { type Html, html } from './html.ts'
import { buttonForm, type Content, notice, type Page, paragraph, type Say } from './layout.ts'

/** The contact's lists and topics with check boxes. */
export const preferencesPage: Page = {
  async show({ contact, client, say }) {
    return choices(await client.contacts.preferences(contact.id), say)
  },

  async submit({ contact: { id }, client, say }, form) {
    const { contacts } = client
    switch (form.get('action')) {
      case 'unsubscribe':
        await contacts.unsubscribe(id, { byContact: true })
        return unsubscribed(say)
      case 'resubscribe':
        await contacts.resubscribe(id)
        return choices(await contacts.preferences(id), say, notice(say('resubscribed_text')))
      case 'save':
        return choices(await contacts.updatePreferences(id, changesOf(form)), say, notice(say('preferences_saved')))
      default:
        return choices(await contacts.preferences(id), say)
    }
  },
}

/** The hidden fields name the lists and topics that were shown, so that memberships added since then stay. */
function changesOf(form: FormData): PreferencesInput {
  const checkedLists = idsOf(form.getAll('list'))
  const checkedTopics = idsOf(form.getAll('topic'))
  const isUnchecked = (checked: ReadonlySet<number>) => (id: number) => !checked.has(id)
  return {
    joinLists: [...checkedLists],
    leaveLists: [...idsOf(form.getAll('lists'))].filter(isUnchecked(checkedLists)),
    leaveTopics: [...idsOf(form.getAll('topics'))].filter(isUnchecked(checkedTopics)),
    joinTopics: [...checkedTopics],
  }
}

/** Returns the ids in fields of a form. Drops everything else. */
function idsOf(values: readonly unknown[]): Set<number> {
  const ids = values.flatMap((value) => (typeof value === 'string' ? value.split(',') : []))
  return new Set(ids.filter((id) => /^[1-9]\d{0,14}$/.test(id)).map(Number))
}

function choices({ unsubscribed_at, lists }: Preferences, say: Say, message?: Html): Content {
  if (unsubscribed_at !== null) return unsubscribed(say)
  const everything = html`<div class="apart">${paragraph(say('unsubscribe_all_text'), 'hint')}${buttonForm(
    'unsubscribe',
    say('unsubscribe_all_button'),
    'plain',
  )}</div>`
  const title = say('preferences_title')
  if (lists.length === 0) {
    return { title, body: html`${message}${paragraph(say('preferences_empty'))}${everything}` }
  }
  const topics = lists.flatMap((list) => list.topics)
  const body = html`${message}<form method="post">
<input type="hidden" name="lists" value="${lists.map(({ id }) => id).join()}">
<input type="hidden" name="topics" value="${topics.map(({ id }) => id).join()}">
<fieldset>
<legend dir="auto">${say('preferences_text')}</legend>
<ul class="lists">
${lists.map(listItem)}</ul>
</fieldset>
<button name="action" value="save" dir="auto">${say('preferences_button')}</button>
</form>
${everything}`
  return { title, body }
}

function listItem({ id, name, joined, topics }: ListPreferences): Html {
  const choosable = topics.length === 0 ? undefined : html`<ul>\n${topics.map(topicItem)}</ul>\n`
  const checked = joined ? html` checked` : undefined
  return html`<li><label><input type="checkbox" name="list" value="${id}"${checked}><span dir="auto">${name}</span></label>
${choosable}</li>
`
}

function topicItem({ id, name, description, subscribed }: TopicPreference): Html {
  const more = description ? html`<small dir="auto">${description}</small>` : undefined
  const checked = subscribed ? html` checked` : undefined
  return html`<li><label><input type="checkbox" name="topic" value="${id}"${checked}><span dir="auto">${name}${more}</span></label></li>
`
}
