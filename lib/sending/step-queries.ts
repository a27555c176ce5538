import { sql } from 'kysely'
import { int, nullable, statement, text } from '../storage/statement.ts'

/** Lists all steps with their content, without the removed ones. */
export const listSteps = statement.all({ sequence_id: int }, (db, p) =>
  db
    .selectFrom('mailkeep_step')
    .select(['id', 'position', 'delay_seconds', 'subject', 'preheader', 'html', 'text'])
    .where('sequence_id', '=', p.sequence_id)
    .where('is_removed', '=', sql.lit(false))
    .orderBy('position'),
)

/** Finds what an event shows of a step, which may be removed. */
export const findStep = statement({ id: int }, (db, p) =>
  db.selectFrom('mailkeep_step').select(['id', 'position', 'delay_seconds', 'subject']).where('id', '=', p.id),
)

/** Lists the places of all steps, also of removed ones, in their order. A removed step comes after those at its position. */
export const listPlaces = statement.all({ sequence_id: int }, (db, p) =>
  db
    .selectFrom('mailkeep_step')
    .select(['id', 'position', 'is_removed', 'delay_seconds', 'version', 'moved_rank'])
    .where('sequence_id', '=', p.sequence_id)
    .orderBy('position')
    .orderBy('is_removed')
    .orderBy('id'),
)

export const setMovedRanks = statement.each(
  { id: int, moved_rank: int },
  (item, from) => sql`
    update mailkeep_step set moved_rank = ${item.moved_rank} ${from} where mailkeep_step.id = ${item.id}`,
)

const content = { delay_seconds: int, subject: text, preheader: nullable(text), html: text, text: nullable(text) }

export const insertStep = statement({ sequence_id: int, position: int, ...content }, (db, row) =>
  db.insertInto('mailkeep_step').values(row),
)

export const updateStep = statement(
  { sequence_id: int, id: int, position: int, ...content },
  (db, { sequence_id, id, ...row }) =>
    db
      .updateTable('mailkeep_step')
      .set((eb) => ({ ...row, version: eb('version', '+', 1) }))
      .where('sequence_id', '=', sequence_id)
      .where('id', '=', id)
      .where('is_removed', '=', sql.lit(false))
      .returning('id'),
)

/** Takes a step out. Its mail is deleted. Its place and subject stay, because a message may be under way. */
export const removeStep = statement({ id: int, position: int }, (db, p) =>
  db
    .updateTable('mailkeep_step')
    .set({ position: p.position, is_removed: sql.lit(true), preheader: null, html: '', text: null })
    .where('id', '=', p.id),
)
