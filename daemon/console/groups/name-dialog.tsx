import { Dialog } from '../parts/dialog.tsx'
import { Field, Form, textOf } from '../parts/form.tsx'

interface NameDialogProps {
  readonly title: string
  readonly action: string
  readonly name: string
  /** Undefined hides the field. */
  readonly description?: string
  readonly close: () => void
  readonly save: (name: string, description: string) => Promise<unknown>
}

/** Asks for the name of a list, a topic or a tag. */
export function NameDialog({ title, action, name, description, close, save }: NameDialogProps) {
  const submit = async (fields: FormData) => {
    await save(textOf(fields, 'name'), textOf(fields, 'description'))
    close()
  }
  return (
    <Dialog title={title} close={close}>
      <Form action={action} cancel={close} submit={submit}>
        <Field label="Name" name="name" required maxLength={255} defaultValue={name} />
        {description !== undefined && <Field label="Description" name="description" defaultValue={description} />}
      </Form>
    </Dialog>
  )
}
