/** The tab's API token. It lives in the session storage and goes only into the `Authorization` header. */
import { effect, signal } from '@preact/signals'

/** Whether a customer sees only webhooks, with the session of a link instead of an API token. */
export const isPortal = /^\/portal(?:\/|$)/.test(location.pathname)

/** Address of the webhook pages. */
export const hooksPath = isPortal ? '/portal' : '/console/webhooks'

const storageKey = isPortal ? 'mailkeep.portal' : 'mailkeep.token'

export type Role = 'admin' | 'limited'

export const token = signal<string | undefined>(readToken())
/** Undefined until the API has answered. */
export const role = signal<Role | undefined>(isPortal ? 'admin' : undefined)
/** Why the last session ended, for the sign-in form. */
export const endedBecause = signal<string | undefined>(undefined)

effect(() => {
  if (token.value === undefined) sessionStorage.removeItem(storageKey)
  else sessionStorage.setItem(storageKey, token.value)
})

/** Reads the token of a link with `#token=…`, and removes it from the address bar and the tab's history. */
function readToken(): string | undefined {
  const linked = /^#token=([\w.~+/-]+=*)$/.exec(location.hash)?.[1]
  if (linked === undefined) return sessionStorage.getItem(storageKey) ?? undefined
  history.replaceState(null, '', location.pathname + location.search)
  return linked
}

export function signIn(given: string): void {
  endedBecause.value = undefined
  token.value = given
}

export function signOut(reason?: string): void {
  endedBecause.value = reason
  if (!isPortal) role.value = undefined
  token.value = undefined
}
