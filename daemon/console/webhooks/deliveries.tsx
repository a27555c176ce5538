import { answerOf, api } from '../api.ts'
import { Loaded, useLoad } from '../parts/load.tsx'
import { Page } from '../parts/page.tsx'
import { DeliveryFilters, DeliveryTable, deliveryQuery, useDeliveryQuery } from './delivery-table.tsx'

/** Deliveries to all endpoints. */
export function Deliveries() {
  const query = useDeliveryQuery()
  const deliveries = useLoad(
    () => answerOf(api.GET('/api/v1/deliveries', { params: { query: deliveryQuery(query) } })),
    [JSON.stringify(query)],
  )
  return (
    <Page
      title="Deliveries"
      actions={
        <button type="button" onClick={deliveries.reload}>
          Refresh
        </button>
      }
    >
      <DeliveryFilters />
      <Loaded of={deliveries}>{(page) => <DeliveryTable page={page} />}</Loaded>
    </Page>
  )
}
