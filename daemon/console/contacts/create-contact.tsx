import { useLocation } from 'preact-iso'
import { allLists, allTags, api, cutNote, dataOf, type Schemas } from '../api.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Choice, Field, Form, textOf } from '../parts/form.tsx'
import { LoadError, useLoad } from '../parts/load.tsx'
import { say } from '../parts/notice.tsx'

/** The notice after a contact was put on a list with double opt-in. */
export const askedToConfirm = 'The contact is asked to confirm, and joins the list when it does.'

export function CreateContact({ close }: { close(): void }) {
  const { route } = useLocation()
  const lists = useLoad(allLists, [])
  const open = (contactId: number, notice: string) => {
    say(notice)
    close()
    route(`/console/contacts/${contactId}`)
  }
  const submit = async (fields: FormData) => {
    const email = textOf(fields, 'email')
    const query = { email, include_unsubscribed: true }
    const [stored] = await dataOf(api.GET('/api/v1/contacts', { params: { query } }))
    // A save would overwrite its name.
    if (stored) return open(stored.id, `${stored.email} is a contact already. Nothing was changed.`)
    const body = {
      email,
      ...(textOf(fields, 'name') !== '' && { name: textOf(fields, 'name') }),
      tags: await tagsIn(textOf(fields, 'tags')),
    }
    const listId = Number(textOf(fields, 'list'))
    const contact: Schemas['AddedContact'] =
      listId > 0
        ? await dataOf(api.POST('/api/v1/lists/{listId}/contacts', { params: { path: { listId } }, body }))
        : await dataOf(api.POST('/api/v1/contacts', { body }))
    open(contact.id, contact.pending_lists?.length ? askedToConfirm : `${contact.email} is saved.`)
  }
  return (
    <Dialog title="New contact" close={close}>
      <Form action="Create contact" cancel={close} submit={submit}>
        <Field label="E-mail" name="email" type="address" required />
        <Field label="Name" name="name" maxLength={255} />
        <Field label="Tags" name="tags" hint="Separated by commas. New tags are created." />
        <LoadError of={lists} />
        <Choice
          label="List"
          name="list"
          note={cutNote(lists.value, 'lists')}
          options={[['', 'None'], ...(lists.value ?? []).map(({ id, name }) => [String(id), name] as const)]}
        />
      </Form>
    </Dialog>
  )
}

/** Returns the names of tags in a text that separates them by commas. The name of a stored tag may have a comma itself. */
export async function tagsIn(text: string): Promise<string[]> {
  const whole = text.trim()
  const names = whole
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
  const isStored = ({ name }: Schemas['Tag']) => name.toLowerCase() === whole.toLowerCase()
  return whole.includes(',') && (await allTags()).some(isStored) ? [whole] : names
}
