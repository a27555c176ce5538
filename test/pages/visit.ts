/** Visits contact pages as a browser without a script would. */
import assert from 'node:assert/strict'

export interface Visited {
  readonly status: number
  readonly headers: Headers
  readonly html: string
}

/** Requests a page. A body is sent as a form. */
export async function visit(url: string, init: RequestInit = {}): Promise<Visited> {
  const answer = await fetch(url, { redirect: 'manual', ...init })
  return { status: answer.status, headers: answer.headers, html: await answer.text() }
}

/** Posts the fields of a form. */
export function submit(
  url: string,
  fields: Readonly<Record<string, string>> | readonly [string, string][],
): Promise<Visited> {
  return visit(url, { method: 'POST', body: new URLSearchParams(fields as Record<string, string>) })
}

/** Returns the fields of the form that has this button, as a browser sends them. */
export function fieldsOf(html: string, button: string): [string, string][] {
  const form = [...html.matchAll(/<form[^>]*>([\s\S]*?)<\/form>/g)]
    .map(([, body]) => body!)
    .find((body) => body.includes(`value="${button}"`))
  assert.ok(form, `no button ${button} in ${html}`)
  const inputs = [...form.matchAll(/<input type="(\w+)" name="(\w+)" value="([^"]*)"( checked)?>/g)]
  const fields = inputs.filter(([, type, , , checked]) => type !== 'checkbox' || checked)
  return [...fields.map(([, , name, value]): [string, string] => [name!, value!]), ['action', button]]
}
