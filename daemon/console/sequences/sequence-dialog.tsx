import { allLists, cutNote, type Schemas } from '../api.ts'
import { SenderField, senderIn } from '../newsletters/sender-field.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Choice, Field, Form, textOf } from '../parts/form.tsx'
import { Loaded, useLoad } from '../parts/load.tsx'

export type SequenceSettings = Omit<Schemas['SequenceInput'], 'status' | 'steps'>

interface SequenceDialogProps {
  readonly title: string
  readonly action: string
  /** Undefined for a new one. */
  readonly sequence?: Schemas['Sequence']
  readonly close: () => void
  readonly save: (settings: SequenceSettings) => Promise<void>
}

/** Asks for the settings of a sequence. */
export function SequenceDialog({ title, action, sequence, close, save }: SequenceDialogProps) {
  const lists = useLoad(allLists, [])
  const submit = async (fields: FormData) => {
    await save({
      name: textOf(fields, 'name'),
      // A field that is not loaded yet is missing: the list stays.
      ...(fields.has('list') && { list_id: Number(textOf(fields, 'list')) || null }),
      ...senderIn(fields),
      reply_to: textOf(fields, 'reply') || null,
    })
    close()
  }
  return (
    <Dialog title={title} close={close}>
      <Form action={action} cancel={close} submit={submit}>
        <Field label="Name" name="name" required defaultValue={sequence?.name ?? ''} />
        <Loaded of={lists}>
          {(all) => (
            <Choice
              label="Contacts who join this list are enrolled"
              name="list"
              selected={String(sequence?.list_id ?? '')}
              note={cutNote(all, 'lists')}
              options={[['', 'No list'], ...all.map(({ id, name }) => [String(id), name] as const)]}
            />
          )}
        </Loaded>
        <SenderField chosen={sequence?.from_identity_id ?? null} />
        <Field label="Reply to" name="reply" type="address" defaultValue={sequence?.reply_to ?? ''} />
        {sequence === undefined && <p class="muted">It is paused until you have written its steps and resume it.</p>}
      </Form>
    </Dialog>
  )
}
