import { useState } from 'preact/hooks'
import { api, dataOf, type Schemas } from '../api.ts'
import { attempt } from '../parts/notice.tsx'
import { number } from '../parts/time.tsx'
import { role } from '../session.ts'
import { DeliveryTable } from '../webhooks/delivery-table.tsx'
import { save } from './export-contacts.tsx'

const shownDeliveries = 50

/** Everything stored about a contact as a file, and for admins the deliveries that show it. Only when asked. */
export function PersonalData({ contactId }: { contactId: number }) {
  const [stored, setStored] = useState<Schemas['PersonalData']>()
  const isAdmin = role.value === 'admin' // the pages of deliveries are theirs
  const load = () => dataOf(api.GET('/api/v1/contacts/{contactId}/data', { params: { path: { contactId } } }))
  const download = async () =>
    save(new Blob([JSON.stringify(await load(), null, 2)], { type: 'application/json' }), `contact-${contactId}.json`)
  return (
    <section>
      <div class="head">
        <h2>{isAdmin ? 'Deliveries that show it' : 'Stored data'}</h2>
        <div class="actions">
          {isAdmin && (
            <button type="button" onClick={() => attempt(async () => setStored(await load()))}>
              Show deliveries
            </button>
          )}
          <button type="button" onClick={() => attempt(download)}>
            Save everything stored
          </button>
        </div>
      </div>
      {stored && (
        <DeliveryTable
          page={{ data: stored.deliveries.slice(0, shownDeliveries), meta: { next_cursor: null, prev_cursor: null } }}
        />
      )}
      {stored && stored.deliveries.length > shownDeliveries && (
        <p class="muted">
          These are {shownDeliveries} of {number(stored.deliveries.length)}. “Save everything stored” has all.
        </p>
      )}
    </section>
  )
}
