/** The requests that the load sends. */
import { emailOf, lightTagCount, listCount, nameOf, tagCount, tagName } from './population.ts'

export type Plan =
  /** GET one of these paths, chosen at random. */
  | { readonly kind: 'get'; readonly paths: readonly string[]; readonly token: string }
  /** POST the body of a light save to a server that echoes it. */
  | { readonly kind: 'echo' }
  /** A new contact each time, with two of 50 tags and two attributes. */
  | { readonly kind: 'save-light'; readonly token: string; readonly run: string }
  /** Half new contacts, half existing ones with their names; random tags and lists. */
  | { readonly kind: 'save-heavy'; readonly token: string; readonly run: string; readonly existing: number }
  /** An event of 1 KiB from each client in turn. */
  | { readonly kind: 'events'; readonly tokens: readonly string[] }

/** @returns A function that returns the next request as latin1 text. */
export function requestsOf(plan: Plan): () => string {
  let n = 0
  switch (plan.kind) {
    case 'get':
      return () => get(anyOf(plan.paths), plan.token)
    case 'echo':
      return () => post('/', '', contact(newEmail('echo', n++), newName(), lightTag(), lightTag()))
    case 'save-light':
      return () => save(1, plan.token, newEmail(plan.run, n++), newName(), lightTag(), lightTag())
    case 'save-heavy':
      return () => {
        const i = n++ % 2 === 0 ? below(plan.existing) : undefined
        const email = i === undefined ? newEmail(plan.run, n) : emailOf(i)
        const name = i === undefined ? newName() : nameOf(i)
        return save(1 + below(listCount), plan.token, email, name, 1 + below(tagCount), 1 + below(tagCount))
      }
    case 'events':
      return () => post('/api/v1/events', plan.tokens[n++ % plan.tokens.length]!, event)
  }
}

const event = JSON.stringify({ type: 'newsletter.sent', data: { text: 'x'.repeat(880) } })

function save(listId: number, token: string, email: string, name: string, ...tags: number[]): string {
  return post(`/api/v1/lists/${listId}/contacts`, token, contact(email, name, ...tags))
}

/** About 150 bytes. */
function contact(email: string, name: string, ...tags: number[]): string {
  const [city, plan] = [anyOf(['Rotterdam', 'Lisbon', 'Accra']), anyOf(['basic', 'premium'])]
  const body = JSON.stringify({ email, name, tags: tags.map(tagName), city, plan })
  return body.replace(/[^ -~]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function newName(): string {
  return `Someone New ${below(1000)}`
}

function newEmail(run: string, n: number): string {
  return `new.${n}.${run}@subscribers.example.org`
}

function lightTag(): number {
  return 1 + below(lightTagCount)
}

function get(path: string, token: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`
}

function post(path: string, token: string, body: string): string {
  const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}`
  return `${head}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}

function below(limit: number): number {
  return Math.floor(Math.random() * limit)
}

function anyOf<T>(values: readonly T[]): T {
  return values[below(values.length)]!
}
