import { useRef } from 'preact/hooks'
import { api, dataOf, type Schemas } from '../api.ts'
import { Choice, changedFrom, Field, Form, namedLines, namedTexts, TextArea, textOf } from '../parts/form.tsx'
import { Loaded, useLoad } from '../parts/load.tsx'
import { say } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'

type Settings = Schemas['PageSettings']

const languages = [
  ['', 'of the contact’s browser'],
  ['en', 'English'],
  ['de', 'Deutsch'],
  ['fr', 'Français'],
  ['es', 'Español'],
] as const

/** How the pages for contacts look: those to unsubscribe, to choose topics, and to confirm. */
export function PageSettingsPage() {
  const settings = useLoad(() => dataOf(api.GET('/api/v1/settings/pages')), [])
  return (
    <Page title="Page settings">
      <p class="prose">The pages on which contacts unsubscribe, choose lists and topics, and confirm.</p>
      <Loaded of={settings}>{(value) => <SettingsForm settings={value} />}</Loaded>
    </Page>
  )
}

function SettingsForm({ settings }: { settings: Settings }) {
  /** The values that this form has shown or stored last. */
  const last = useRef(settings)
  const submit = async (fields: FormData) => {
    const body = {
      name: textOf(fields, 'name') || null,
      colour: textOf(fields, 'colour') || null,
      logo_url: textOf(fields, 'logo') || null,
      language: (textOf(fields, 'language') || null) as Settings['language'],
      texts: namedTexts(String(fields.get('texts') ?? ''), last.current.texts),
      postal_address: textOf(fields, 'postal') || null,
    }
    const stored = await dataOf(api.GET('/api/v1/settings/pages'))
    await dataOf(api.PUT('/api/v1/settings/pages', { body: { ...stored, ...changedFrom(last.current, body) } }))
    last.current = { ...last.current, ...body }
    say('The settings are saved.')
  }
  return (
    <div class="card">
      <Form action="Save" asksBeforeLeaving submit={submit}>
        <Field label="Name" name="name" defaultValue={settings.name ?? ''} hint="At the top of each page." />
        <Field label="Colour of buttons" name="colour" defaultValue={settings.colour ?? ''} placeholder="#0a58ca" />
        <Field label="URL of the logo" name="logo" type="url" defaultValue={settings.logo_url ?? ''} />
        <Choice label="Language" name="language" selected={settings.language ?? ''} options={languages} />
        <TextArea
          label="Own texts"
          name="texts"
          rows={6}
          defaultValue={namedLines(settings.texts)}
          hint="One on each line: unsubscribe_title: Leaving so soon? Indent its further lines. The API documentation has the names."
        />
        <TextArea
          label="Postal address"
          name="postal"
          rows={3}
          defaultValue={settings.postal_address ?? ''}
          hint="{{ client.postal_address }} in mails."
        />
      </Form>
    </div>
  )
}
