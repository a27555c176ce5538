import { useEffect, useState } from 'preact/hooks'
import { api, dataOf, type Schemas } from '../api.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Choice, Form, textOf } from '../parts/form.tsx'
import { ErrorBox } from '../parts/load.tsx'
import { number } from '../parts/time.tsx'

const pollMs = 1000

/** Sends again what failed or was held, and shows the progress. */
export function Recover({ endpointId, close, done }: { endpointId: number; close(): void; done(): void }) {
  const [recovery, setRecovery] = useState<Schemas['Recovery']>()
  const [error, setError] = useState<unknown>()
  const [polls, setPolls] = useState(0)
  const submit = async (fields: FormData) => {
    const since = new Date(Date.now() - Number(textOf(fields, 'hours')) * 3_600_000).toISOString()
    const call = api.POST('/api/v1/webhook-endpoints/{endpointId}/recover', {
      params: { path: { endpointId } },
      body: { since },
    })
    setRecovery(await dataOf(call))
  }
  useEffect(() => {
    if (!recovery || isOver(recovery)) return
    const timer = setTimeout(() => {
      const path = { params: { path: { endpointId, recoveryId: recovery.id } } }
      dataOf(api.GET('/api/v1/webhook-endpoints/{endpointId}/recoveries/{recoveryId}', path))
        .then((next) => {
          setError(undefined)
          setRecovery(next)
          if (isOver(next)) done()
        }, setError)
        .then(() => setPolls(polls + 1))
    }, pollMs)
    return () => clearTimeout(timer)
  }, [recovery?.id, polls])
  return (
    <Dialog title="Recover deliveries" close={close}>
      {recovery ? (
        <div class="body">
          {recovery.total === 0 && isOver(recovery) && <p>No delivery failed or was held in this time.</p>}
          <label>
            {number(recovery.done)} of {number(recovery.total)} deliveries queued again: {recovery.status}
            <progress
              max={Math.max(1, recovery.total)}
              value={recovery.status === 'done' ? Math.max(1, recovery.total) : recovery.done}
            />
          </label>
          {error !== undefined && <ErrorBox error={error} />}
        </div>
      ) : (
        <Form action="Send again" cancel={close} submit={submit}>
          <p>Deliveries that failed or were held since then are sent again.</p>
          <Choice
            label="Since"
            name="hours"
            options={[
              ['1', 'one hour ago'],
              ['24', 'one day ago'],
              ['168', '7 days ago'],
              ['720', '30 days ago'],
            ]}
          />
        </Form>
      )}
    </Dialog>
  )
}

function isOver({ status }: Schemas['Recovery']): boolean {
  return status === 'done' || status === 'stopped'
}
