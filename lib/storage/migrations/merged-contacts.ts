import type { Migration } from '../migrate.ts'
import type { Words } from './sending.ts'

/** The contacts that were merged into others, so that their links in sent mails work. */
export function mergedContactsMigration({ int, end }: Pick<Words, 'int' | 'end'>): Migration {
  return {
    name: '019-merged-contacts',
    statements: [
      `create table mailkeep_merged_contact (contact_id ${int} primary key, client_id ${int} not null, uuid text not null,
      into_id ${int} not null references mailkeep_contact (id) on delete cascade)${end}`,
      'create index mailkeep_merged_contact_into on mailkeep_merged_contact (into_id)',
    ],
  }
}
