import { allOf, answerOf, api, cutNote, dataOf } from '../api.ts'
import { Choice, textOf } from '../parts/form.tsx'
import { Loaded, useLoad } from '../parts/load.tsx'

const firstIdentity = 'the first verified identity'

/** Chooses the identity that mails are sent from. */
export function SenderField({ chosen }: { chosen: number | null }) {
  const identities = useLoad(
    () => allOf((query) => answerOf(api.GET('/api/v1/email-identities', { params: { query } }))),
    [],
  )
  return (
    <Loaded of={identities}>
      {(all) => (
        <Choice
          label="From"
          name="from"
          selected={String(chosen ?? '')}
          note={cutNote(all, 'identities')}
          options={[['', firstIdentity], ...all.map(({ id, email }) => [String(id), email] as const)]}
        />
      )}
    </Loaded>
  )
}

/** The identity that mails are sent from. */
export function Sender({ id }: { id: number | null }) {
  const identity = useLoad(
    async () =>
      id === null
        ? undefined
        : await dataOf(
            api.GET('/api/v1/email-identities/{emailIdentityId}', { params: { path: { emailIdentityId: id } } }),
          ),
    [id],
  )
  return <>{id === null ? firstIdentity : (identity.value?.email ?? `identity ${id}`)}</>
}

/** Reads `SenderField`. A field that was not opened, or not loaded yet, is missing: the sender stays. */
export function senderIn(fields: FormData): { from_identity_id?: number | null } {
  return fields.has('from') ? { from_identity_id: Number(textOf(fields, 'from')) || null } : {}
}
