import { allOf, answerOf, api } from '../api.ts'
import { Choice, textOf } from '../parts/form.tsx'
import { Loaded, useLoad } from '../parts/load.tsx'

/** Chooses the identity that mails are sent from. */
export function SenderField({ chosen }: { chosen: number | null }) {
  const identities = useLoad(
    () =>
      allOf((cursor) =>
        answerOf(
          api.GET('/api/v1/email-identities', { params: { query: { per_page: 100, ...(cursor && { cursor }) } } }),
        ),
      ),
    [],
  )
  return (
    <Loaded of={identities}>
      {(all) => (
        <Choice
          label="From"
          name="from"
          selected={String(chosen ?? '')}
          options={[['', 'the first verified identity'], ...all.map(({ id, email }) => [String(id), email] as const)]}
        />
      )}
    </Loaded>
  )
}

/** Reads `SenderField`. A field that was not opened, or not loaded yet, is missing: the sender stays. */
export function senderIn(fields: FormData): { from_identity_id?: number | null } {
  return fields.has('from') ? { from_identity_id: Number(textOf(fields, 'from')) || null } : {}
}
