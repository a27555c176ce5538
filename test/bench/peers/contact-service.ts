/** The HTTP side of every peer's service for contacts: polka, a token, valibot, and pages by cursor. */
import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import polka from 'polka'
import * as v from 'valibot'
import { clientId, token } from '../population.ts'

export const perPage = 25

export interface Contact {
  readonly id: number
  readonly uuid: string
  readonly email: string
  readonly name: string
  readonly extra_attributes: unknown
  readonly created_at: string | Date
  readonly unsubscribed_at: string | Date | null
  readonly tags: readonly { readonly id: number; readonly name: string }[]
  readonly lists: readonly { readonly id: number; readonly name: string }[]
}

export interface Person {
  readonly email: string
  readonly emailKey: string
  readonly name: string
  readonly tags: readonly string[]
  readonly attributes: Readonly<Record<string, string>>
}

export interface Contacts {
  /** Creates the contact or changes the one with this address, all in one transaction. Undefined: no such list. */
  save(tenantId: number, listId: number, person: Person): Promise<Contact | undefined>
  /** Returns up to one contact more than a page, by ascending id, without unsubscribed ones. */
  page(tenantId: number, after: number, search: string | undefined): Promise<readonly Contact[]>
}

const text = v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(255))
const NewContact = v.objectWithRest(
  {
    email: v.pipe(text, v.email()),
    name: v.optional(text, ''),
    tags: v.optional(v.pipe(v.array(text), v.maxLength(500)), []),
  },
  v.pipe(v.string(), v.maxLength(1000)),
)

const hashOf = (value: string) => createHash('sha256').update(value).digest('hex')
const tenants = new Map([[hashOf(token), clientId]])

export async function serve(open: (database: string) => Promise<Contacts>): Promise<void> {
  const contacts = await open(process.argv[2]!)
  const app = polka()
  app.get('/api/v1/contacts', (req, res) =>
    answer(req, res, async (tenantId) => {
      const { cursor, search } = req.query as Record<string, string | undefined>
      const after = cursor ? Number(Buffer.from(cursor, 'base64url').toString().split(':')[1]) : 0
      const found = await contacts.page(tenantId, after, search)
      const data = found.slice(0, perPage)
      const next = found.length > perPage ? Buffer.from(`next:${data.at(-1)!.id}`).toString('base64url') : null
      return [200, { data, meta: { next } }]
    }),
  )
  app.post('/api/v1/lists/:listId/contacts', (req, res) =>
    answer(req, res, async (tenantId) => {
      const chunks: Buffer[] = []
      for await (const chunk of req) chunks.push(chunk)
      const parsed = v.safeParse(NewContact, JSON.parse(Buffer.concat(chunks).toString()))
      if (!parsed.success) return [422, { errors: v.flatten(parsed.issues).nested }]
      const { email, name, tags, ...attributes } = parsed.output
      const person = { email, emailKey: email.toLowerCase(), name, tags: [...new Set(tags)], attributes }
      const data = await contacts.save(tenantId, Number(req.params.listId), person)
      return data ? [201, { data }] : [404, { message: 'There is no such list.' }]
    }),
  )
  app.listen(0, '127.0.0.1', () => process.send!({ port: (app.server!.address() as AddressInfo).port }))
  process.on('disconnect', () => process.exit())
}

async function answer(
  req: IncomingMessage,
  res: ServerResponse,
  call: (tenantId: number) => Promise<[status: number, body: object]>,
): Promise<void> {
  const tenantId = tenants.get(hashOf(req.headers.authorization?.slice('Bearer '.length) ?? ''))
  try {
    if (tenantId === undefined) send(res, 401, { message: 'The token is unknown.' })
    else send(res, ...(await call(tenantId)))
  } catch (error) {
    process.stderr.write(`${(error as Error).stack}\n`)
    send(res, 500, { message: 'Internal error.' })
  }
}

function send(res: ServerResponse, status: number, body: object): void {
  const json = JSON.stringify(body)
  res.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(json) })
  res.end(json)
}
