import { useState } from 'preact/hooks'
import { authorized } from '../api.ts'
import { confirm } from '../parts/dialog.tsx'
import { Form } from '../parts/form.tsx'
import { Block } from '../parts/page.tsx'
import { token } from '../session.ts'
import { type Entry, exampleOf } from './description.ts'

interface Result {
  readonly status: string
  readonly headers: string
  readonly body: string
}

/** Operations, besides each DELETE, that cannot be undone. Their pages ask first, too. */
const finalOperations = new Set([
  'batchContacts',
  'cancelNewsletter',
  'mergeContact',
  'resumeNewsletter',
  'resumeSequence',
  'sendNewsletter',
])

/** Longer answers are cut, so that the page stays quick. */
const maxShownCharacters = 100_000

/** Sends the operation with the tab's token, and shows the answer. */
export function TryIt({ entry }: { entry: Entry }) {
  const [result, setResult] = useState<Result>()
  const { operation, method } = entry
  const parameters = (operation.parameters ?? []).filter((one) => one.in !== 'header')
  const [mediaType, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? []
  const send = async (fields: FormData) => {
    const isFinal = method === 'DELETE' || finalOperations.has(operation.operationId)
    const isAgreed = !isFinal || (await confirm(question(method, target(entry, fields))))
    if (!isAgreed) return
    const body = mediaType === undefined ? {} : { body: String(fields.get('body')) }
    const headers = mediaType === undefined ? {} : { 'Content-Type': mediaType }
    const response = await authorized(
      new Request(new URL(target(entry, fields), location.origin), { method, headers, ...body }),
    )
    setResult(await resultOf(response))
  }
  return (
    <section class="try" aria-label={`Try ${operation.operationId}`}>
      <h3>Try it</h3>
      {token.value === undefined && operation['x-role'] !== undefined && (
        <p class="muted">
          <a href="/">Sign in</a> to send it with a token.
        </p>
      )}
      <Form action={`Send ${method}`} submit={send}>
        {parameters.map(({ name, in: place, required, example }) => (
          <div key={name} class="field">
            <label for={`${entry.id}-${name}`}>{name}</label>
            <input
              id={`${entry.id}-${name}`}
              name={name}
              type="text"
              autoComplete="off"
              required={required}
              placeholder={place === 'query' ? textOfExample(example) : ''}
              defaultValue={place === 'path' ? '1' : ''}
            />
          </div>
        ))}
        {mediaType !== undefined && (
          <div class="field">
            <label for={`${entry.id}-body`}>Body, {mediaType}</label>
            <textarea id={`${entry.id}-body`} name="body" rows={8} spellcheck={false}>
              {exampleOf(content) ?? '{}'}
            </textarea>
          </div>
        )}
      </Form>
      {result && (
        <div role="status">
          <p>
            <strong>{result.status}</strong>
          </p>
          <Block>{result.headers}</Block>
          {result.body !== '' && <Block>{result.body}</Block>}
        </div>
      )}
    </section>
  )
}

/** Returns an example as it is typed into a field. */
function textOfExample(example: unknown): string {
  return typeof example === 'string' ? example : (JSON.stringify(example) ?? '')
}

function question(method: string, path: string) {
  return {
    title: `Send this ${method}?`,
    text: (
      <p>
        <code>
          {method} {path}
        </code>{' '}
        changes real data.
      </p>
    ),
    action: 'Send',
    isDangerous: true,
  }
}

/** Returns the path and query for the fields. A list has commas between its values. */
function target({ path, operation }: Entry, fields: FormData): string {
  const query = new URLSearchParams()
  let filled = path
  for (const { name, in: place } of operation.parameters ?? []) {
    const value = String(fields.get(name) ?? '')
    if (place === 'path') filled = filled.replace(`{${name}}`, encodeURIComponent(value))
    else if (place === 'query' && value !== '') {
      for (const one of name.endsWith('[]') ? value.replace(/^\[|\]$/g, '').split(',') : [value])
        query.append(name, one.trim())
    }
  }
  return query.size === 0 ? filled : `${filled}?${query}`
}

async function resultOf(response: Response): Promise<Result> {
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false
  const body = isJson && text !== '' ? JSON.stringify(JSON.parse(text), null, 2) : text
  return {
    status: `${response.status} ${response.statusText}`.trim(),
    headers: [...response.headers].map(([name, value]) => `${name}: ${value}`).join('\n'),
    body: body.length > maxShownCharacters ? `${body.slice(0, maxShownCharacters)}\n…` : body,
  }
}
