import { body, single } from '../answers.ts'
import type { RouteDocs } from '../operation.ts'

export const eventExtensions: RouteDocs = {
  'POST /events': {
    name: 'raiseEvent',
    summary: 'Raise an event that only the host app knows about',
    body: body('EventInput'),
    answers: { 202: single('RaisedEvent', 'The event was raised.') },
  },
}
