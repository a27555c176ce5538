import type { ComponentChildren } from 'preact'
import { ActionsHead } from '../parts/row-button.tsx'
import { number, Time } from '../parts/time.tsx'

export interface Group {
  readonly id: number
  readonly name: string
  readonly created_at: string
  readonly contacts_count?: number
}

interface GroupTableProps<T> {
  readonly groups: readonly T[]
  readonly link: (group: T) => string
  /** Address of the listing of its contacts. */
  readonly contacts: (group: T) => string
  readonly actions: (group: T) => ComponentChildren
}

/** Lists or tags, with the numbers of their subscribed contacts. */
export function GroupTable<T extends Group>({ groups, link, contacts, actions }: GroupTableProps<T>) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col" class="figure">
            Contacts
          </th>
          <th scope="col" class="wide">
            Created
          </th>
          <ActionsHead />
        </tr>
      </thead>
      <tbody>
        {groups.map((group) => (
          <tr key={group.id}>
            <td class="main">
              <a href={link(group)} data-row>
                {group.name}
              </a>
            </td>
            <td class="figure">
              <a href={contacts(group)} aria-label={`${number(group.contacts_count ?? 0)} contacts of ${group.name}`}>
                {number(group.contacts_count ?? 0)}
              </a>
            </td>
            <td class="wide nowrap">
              <Time at={group.created_at} />
            </td>
            <td class="do">{actions(group)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
