/** What sending does in the transactions of other slices. */
import type { Local } from '../context.ts'
import { awaitConfirmationMail } from './confirming.ts'
import { followMemberships } from './enrolments.ts'

export const sendingHooks: Pick<Local, 'onMemberships' | 'onConfirmationRequests'> = {
  onMemberships: followMemberships,
  onConfirmationRequests: awaitConfirmationMail,
}
