/** The tab's API token. It lives in the session storage and goes only into the `Authorization` header. */
import { effect, signal } from '@preact/signals'
import type { components } from '../client/api.ts'

/** Whether a customer sees only webhooks, with the session of a link instead of an API token. */
export const isPortal = /^\/portal(?:\/|$)/.test(location.pathname)

/** Address of the webhook pages. */
export const hooksPath = isPortal ? '/portal' : '/console/webhooks'

const storageKey = isPortal ? 'mailkeep.portal' : 'mailkeep.token'

export type Role = components['schemas']['Token']['role']

/** Undefined where the browser refuses it: to an embedded portal, if data of third parties is blocked. */
const storage = tabStorage()

export const token = signal<string | undefined>(readToken())
/** Id of the token. Undefined until the API has answered, and in the portal. */
export const tokenId = signal<number | undefined>(undefined)
/** Role of the token. Undefined until the API has answered. A portal's link gives all rights to its pages. */
export const role = signal<Role | undefined>(isPortal ? 'admin' : undefined)

const ranks: Readonly<Record<Role, number>> = { viewer: 0, member: 1, admin: 2 }

/** Whether the token may do what needs this role. Until its role is known, everything is offered. */
export function may(needed: Role): boolean {
  return role.value === undefined || ranks[role.value] >= ranks[needed]
}

/** Id of the client that the tab's tokens open. Undefined until the API has answered. */
let clientId: number | undefined

/** Why the API ended the session, for the sign-in form. */
export const endedBecause = signal<string | undefined>(undefined)
/** Changes when the user ends the session: nothing of it may stay on the page. */
export const sessionNumber = signal(0)

effect(() => {
  if (token.value === undefined) storage?.removeItem(storageKey)
  else storage?.setItem(storageKey, token.value)
})

function tabStorage(): Storage | undefined {
  try {
    return sessionStorage
  } catch {
    return undefined
  }
}

function readToken(): string | undefined {
  return linkedToken() ?? storage?.getItem(storageKey) ?? undefined
}

/** Reads the token of a link with `#token=…`, and removes it from the address bar and the tab's history. */
export function linkedToken(): string | undefined {
  const [, linked] = /^#token=(.*)$/.exec(location.hash) ?? []
  if (linked === undefined) return undefined
  history.replaceState(null, '', location.pathname + location.search)
  return /^[\w.~+/-]+=*$/.test(linked) ? linked : undefined
}

export function signIn(given: string): void {
  endedBecause.value = undefined
  token.value = given
}

/** Stores what the API reported about the token. Discards data of another client's session. */
export function noteToken(current: components['schemas']['CurrentToken']): void {
  if (clientId !== undefined && clientId !== current.client_id) sessionNumber.value++
  clientId = current.client_id
  role.value = current.role
  tokenId.value = current.id
}

/** Ends the session for the user. */
export function signOut(): void {
  sessionNumber.value++
  expire(undefined)
}

/** Ends the session for the API. The page stays until the user has signed in again, with the words that are not saved. */
export function expire(reason: string | undefined): void {
  endedBecause.value = reason
  if (!isPortal) role.value = undefined
  tokenId.value = undefined
  token.value = undefined
}
