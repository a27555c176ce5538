import type { ClientOperations } from '../api-types.ts'
import type { IdempotentResult } from './schema.ts'

/** What may be repeated: `mailkeep.forClient(id)`. */
export interface IdempotencyApi {
  /**
   * Does work at most once for a key of the client's: the key commits with all that the work has written, and for 24
   * hours a repeat gets the first answer, and does nothing. Work that throws leaves nothing behind, no key either. Kept
   * answers are sealed like secrets, and go with the contacts that the work's operations showed.
   *
   * @param key 1–255 characters; a random one for each thing to be done.
   * @param request What is asked for, as JSON: by it a repeat is told from another request.
   * @param work Given the client's operations, all in one transaction: it awaits these, one after another, and nothing
   *   else, no outer client's either. It may run twice, and then the first time is undone. On SQLite other writes wait
   *   for it: some hundreds of rows at most.
   * @throws MailkeepError `idempotency_mismatch`: the key was used for another request; `conflict`: the first with this
   *   key is still running, or its answer was sealed with an encryption key that is not there any more;
   *   `validation_failed`; and what `work` throws.
   * @example
   * const { answer } = await acme.withIdempotencyKey(order.id, order, (client) => client.contacts.addToList(1, order.buyer))
   */
  withIdempotencyKey<T>(
    key: string,
    request: unknown,
    work: (client: ClientOperations) => Promise<T>,
  ): Promise<IdempotentResult<T>>
}
