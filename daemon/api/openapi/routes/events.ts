import { body, single } from '../answers.ts'
import type { DescribedRoutes } from '../operation.ts'

export const eventExtensions: DescribedRoutes = {
  'POST /events': {
    name: 'raiseEvent',
    summary: 'Raise an event that only the host app can know of',
    body: body('EventInput'),
    answers: { 202: single('RaisedEvent', 'Raised.') },
  },
}
