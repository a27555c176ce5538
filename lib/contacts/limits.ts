/** Limits on the tags, lists and topics of a contact. */
import type { Tx } from '../context.ts'
import { invalid, type MailkeepError } from '../errors.ts'
import { inputLimits } from '../limits.ts'
import * as queries from './queries.ts'

/** Checks a limit after a row was added. A contact that already exceeds the limit keeps its rows. */
export async function requireAtMost(tx: Tx, what: 'tags' | 'lists' | 'topics', contactId: number): Promise<void> {
  const { count } = (await queries.countOfContact[what](tx, { contact_id: contactId }))!
  if (count > inputLimits[what]) throw tooMany(what)
}

/** Returns the error of an exceeded limit. Its field is the contact's, even if the body does not contain it. */
export function tooMany(what: 'tags' | 'lists' | 'topics'): MailkeepError {
  return invalid(what, limitMessages[what])
}

const limitMessages = {
  tags: `A contact has at most ${inputLimits.tags} tags.`,
  lists: `A contact can be on at most ${inputLimits.lists} lists.`,
  topics: `A contact can be subscribed to at most ${inputLimits.topics} topics.`,
}
