import { api, dataOf, type Schemas } from '../api.ts'
import { FilterFields, filtersIn } from '../newsletters/audience.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { changedFrom, Field, Form, namedLines, namedTexts, TextArea, textOf } from '../parts/form.tsx'
import { say } from '../parts/notice.tsx'

type Filters = Schemas['SegmentFilters']

interface SegmentDialogProps {
  /** Undefined: a new one. */
  readonly segment: Schemas['Segment'] | undefined
  readonly close: () => void
  readonly saved: () => void
}

/** Creates or changes a segment. */
export function SegmentDialog({ segment, close, saved }: SegmentDialogProps) {
  const { attributes = {}, search, created_after, created_before, ...groups } = segment?.filters ?? {}
  const submit = async (fields: FormData) => {
    const filters: Filters = { ...filtersIn(fields, groups), ...otherFilters(fields, attributes) }
    const body = { name: textOf(fields, 'name'), filters }
    if (segment) {
      const path = { segmentId: segment.id }
      await dataOf(api.PATCH('/api/v1/segments/{segmentId}', { params: { path }, body: changedFrom(segment, body) }))
    } else await dataOf(api.POST('/api/v1/segments', { body }))
    say('The segment is saved.')
    close()
    saved()
  }
  return (
    <Dialog title={segment ? 'Edit segment' : 'New segment'} close={close}>
      <Form action={segment ? 'Save' : 'Create segment'} cancel={close} submit={submit}>
        <Field label="Name" name="name" required maxLength={255} defaultValue={segment?.name ?? ''} />
        <FilterFields filters={groups} />
        <Field label="Name or e-mail contains" name="search" defaultValue={search ?? ''} />
        <TextArea
          label="Attributes"
          name="attributes"
          rows={2}
          defaultValue={namedLines(attributes)}
          hint="One on each line: plan: pro. The page of segments declares which attributes can be used."
        />
        <Field
          label="Created after"
          name="created_after"
          defaultValue={created_after ?? ''}
          placeholder={exampleTime}
        />
        <Field
          label="Created before"
          name="created_before"
          defaultValue={created_before ?? ''}
          placeholder={exampleTime}
        />
      </Form>
    </Dialog>
  )
}

const exampleTime = '2026-01-02T03:04:05Z'

function otherFilters(fields: FormData, before: NonNullable<Filters['attributes']>): Filters {
  const attributes = namedTexts(String(fields.get('attributes') ?? ''), before)
  const texts = (['search', 'created_after', 'created_before'] as const).map((name) => [name, textOf(fields, name)])
  return {
    ...(Object.keys(attributes).length > 0 && { attributes }),
    ...Object.fromEntries(texts.filter(([, text]) => text !== '')),
  }
}
