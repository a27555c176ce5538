import { useState } from 'preact/hooks'
import { api, dataOf, type Schemas } from '../api.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Field, Form, textOf } from '../parts/form.tsx'
import { Secret } from '../parts/page.tsx'
import { isPortal } from '../session.ts'

type EventType = Schemas['EndpointInput']['events'][number]

/** Every type that an endpoint may ask for. A type that is missing does not compile. */
const asked: Readonly<Record<Exclude<EventType, 'webhook.test'>, true>> = {
  'contact.subscribed': true,
  'contact.unsubscribed': true,
  'contact.resubscribed': true,
  'contact.created': true,
  'contact.updated': true,
  'contact.deleted': true,
  'contact.list_removed': true,
  'contact.tagged': true,
  'contact.untagged': true,
  'contact.topic_subscribed': true,
  'contact.topic_unsubscribed': true,
  'contact.confirmation_requested': true,
  'newsletter.sent': true,
  'sequence_step.sent': true,
  'sequence.completed': true,
}

export const eventTypes = Object.keys(asked) as readonly EventType[]

/** Not for the customers of a portal, who cannot change settings. */
const urlHint =
  'https, and on the internet. To try a receiver on your own machine, start mailkeep with MAILKEEP_WEBHOOK_ALLOW_PRIVATE=true.'

/** Creates an endpoint, then shows its secret once. */
export function CreateEndpoint({ close, created }: { close(): void; created(): void }) {
  const [endpoint, setEndpoint] = useState<Schemas['NewEndpoint']>()
  const submit = async (fields: FormData) => {
    const body = {
      url: textOf(fields, 'url'),
      description: textOf(fields, 'description'),
      events: fields.getAll('events') as EventType[],
    }
    setEndpoint(await dataOf(api.POST('/api/v1/webhook-endpoints', { body })))
    created()
  }
  if (endpoint) {
    return (
      <Dialog title="The endpoint is created" isRequired close={close}>
        <Secret label="This secret signs its deliveries." value={endpoint.secret} close={close} />
      </Dialog>
    )
  }
  return (
    <Dialog title="New endpoint" close={close}>
      <Form action="Create endpoint" cancel={close} submit={submit}>
        <Field
          label="URL"
          name="url"
          type="url"
          required
          placeholder="https://example.com/hooks/mailkeep"
          {...(!isPortal && { hint: urlHint })}
        />
        <Field label="Description" name="description" />
        <fieldset class="events">
          <legend>Events</legend>
          {eventTypes.map((type) => (
            <label key={type} class="check">
              <input type="checkbox" name="events" value={type} defaultChecked={eventTypes.indexOf(type) < 3} /> {type}
            </label>
          ))}
        </fieldset>
      </Form>
    </Dialog>
  )
}
