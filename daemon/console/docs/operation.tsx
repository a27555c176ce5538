import { useContext, useEffect, useState } from 'preact/hooks'
import type { Content, Parameter, Reference, Response } from '../../api/openapi/schema.ts'
import { Block } from '../parts/page.tsx'
import { Described, type Entry, exampleOf, resolve } from './description.ts'
import { Fields, Limits, Prose, typeOf } from './schema.tsx'
import { TryIt } from './try-it.tsx'

/** An operation, closed until it is wanted. Its content is made when it is opened. */
export function OperationDoc({ entry, isEvent }: { entry: Entry; isEvent: boolean }) {
  const [isOpen, setOpen] = useState(location.hash === `#${entry.id}`)
  useEffect(() => {
    const follow = () => location.hash === `#${entry.id}` && setOpen(true)
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [entry.id])
  return (
    <details
      id={entry.id}
      class="operation"
      open={isOpen}
      onToggle={(event) => setOpen((event.currentTarget as HTMLDetailsElement).open)}
    >
      <summary data-row>
        {!isEvent && <span class={`method ${entry.method.toLowerCase()}`}>{entry.method}</span>}
        <code>{entry.path}</code>
        <span class="muted">{entry.operation.summary}</span>
      </summary>
      {isOpen && (isEvent ? <EventContent entry={entry} /> : <RouteContent entry={entry} />)}
    </details>
  )
}

function RouteContent({ entry }: { entry: Entry }) {
  const { operation } = entry
  const role = operation['x-role']
  const answers = Object.entries(operation.responses)
  return (
    <div class="content">
      <p>
        <Prose text={operation.description} />
      </p>
      <p class="muted">
        {role ? `Lowest role: ${role}.` : 'No token is needed.'}
        {operation['x-extension'] && ' An extension of the contract.'}{' '}
        <a href={`#${entry.id}`}>Link to this operation</a>
      </p>
      <Parameters of={operation.parameters ?? []} />
      {operation.requestBody && <Bodies title="Body" content={operation.requestBody.content} />}
      {answers
        .filter(([status]) => status.startsWith('2'))
        .map(([status, answer]) => (
          <Answer key={status} status={status} answer={answer} />
        ))}
      <Errors answers={answers.filter(([status]) => !status.startsWith('2'))} />
      <TryIt entry={entry} />
    </div>
  )
}

function EventContent({ entry }: { entry: Entry }) {
  return (
    <div class="content">
      <p>
        <Prose text={entry.operation.description ?? entry.operation.summary} />
      </p>
      <Parameters of={entry.operation.parameters ?? []} />
      {entry.operation.requestBody && <Bodies title="Payload" content={entry.operation.requestBody.content} />}
    </div>
  )
}

const places = { path: 'Path', query: 'Query', header: 'Headers' } as const

function Parameters({ of }: { of: readonly Parameter[] }) {
  const description = useContext(Described)
  return (
    <>
      {Object.entries(places).map(([place, title]) => {
        const there = of.filter((parameter) => parameter.in === place)
        if (there.length === 0) return null
        return (
          <div key={place}>
            <h3>{title}</h3>
            <dl class="fields">
              {there.map(({ name, schema, required, description: about, example }) => (
                <div key={name}>
                  <dt>
                    <code>{name}</code> <span class="muted">{typeOf(description, schema)}</span>
                    {required && <span class="muted">, required</span>}
                  </dt>
                  <dd>
                    <Prose text={about} />
                    <Limits schema={schema} />
                    {example !== undefined && (
                      <span class="muted">
                        {' '}
                        Example: <code>{typeof example === 'string' ? example : JSON.stringify(example)}</code>
                      </span>
                    )}
                  </dd>
                </div>
              ))}
            </dl>
          </div>
        )
      })}
    </>
  )
}

function Bodies({ title, content }: { title: string; content: Content }) {
  const types = Object.keys(content)
  const first = content[types[0] ?? '']
  const example = exampleOf(first)
  return (
    <div>
      <h3>
        {title} <small>{types.join(', ')}</small>
      </h3>
      {first && <Fields schema={first.schema} />}
      {example !== undefined && <Block>{example}</Block>}
    </div>
  )
}

function Answer({ status, answer }: { status: string; answer: Response | Reference }) {
  const { description: about, content } = resolve<Response>(useContext(Described), answer)
  return (
    <div>
      <h3>
        Answer {status}{' '}
        <small>
          <Prose text={about} />
        </small>
      </h3>
      {content && <Bodies title="Body" content={content} />}
    </div>
  )
}

function Errors({ answers }: { answers: readonly (readonly [string, Response | Reference])[] }) {
  const description = useContext(Described)
  if (answers.length === 0) return null
  return (
    <div>
      <h3>Errors</h3>
      <dl class="fields">
        {answers.map(([status, answer]) => {
          const { description: about, content } = resolve<Response>(description, answer)
          const example = exampleOf(Object.values(content ?? {})[0])
          return (
            <div key={status}>
              <dt>
                <code>{status}</code>
              </dt>
              <dd>
                <Prose text={about} />
                {example !== undefined && (
                  <details>
                    <summary>Example of {status}</summary>
                    <Block>{example}</Block>
                  </details>
                )}
              </dd>
            </div>
          )
        })}
      </dl>
    </div>
  )
}
