/** Random requests: each must be answered, in its documented shape, and without a 5xx. */
import assert from 'node:assert/strict'
import { checking, type Subject } from './checking.ts'
import { judge } from './judgement.ts'
import { Records } from './records.ts'
import { render } from './rendering.ts'
import { type Sent, session } from './sent.ts'
import { type Kind, makeTenant, openService, type Service } from './service.ts'
import { Wire } from './wire.ts'

/** Maximum clients per database; then an empty database replaces it. */
const clientsEach = 2_000

export async function requestsOn(kind: Kind): Promise<Subject> {
  let service = await openService(kind)
  let wire = new Wire(service.port)
  let stranger = await makeStranger(service)
  let clients = 0
  let steps = 0
  const close = async () => {
    wire.close()
    await service.close()
  }
  const renew = async () => {
    await close()
    service = await openService(kind)
    wire = new Wire(service.port)
    stranger = await makeStranger(service)
    clients = 0
  }
  const check = checking(session, async (requests) => {
    if (++clients > clientsEach) await renew()
    await run(service, wire, stranger, requests, () => steps++)
  })
  return { check, steps: () => steps, close }
}

/** The client with the first ids sends no requests, because the random requests name its ids. */
async function makeStranger({ mailkeep }: Service): Promise<string> {
  await makeTenant(mailkeep)
  return (await makeTenant(mailkeep)).tokens.admin
}

async function run(service: Service, wire: Wire, stranger: string, requests: readonly Sent[], count: () => void) {
  const tenant = await makeTenant(service.mailkeep)
  const records = new Records(tenant)
  for (const sent of requests) {
    count()
    const rendered = render(sent, records, { ...tenant.tokens, stranger })
    const asked = `${rendered.method} ${rendered.target.slice(0, 300)} ${rendered.bytes?.toString('utf8', 0, 300) ?? ''}`
    try {
      const reply = await wire.exchange(rendered.message)
      try {
        judge(sent, rendered, reply, records)
        service.assertSilent()
      } catch (error) {
        wire.close()
        throw new assert.AssertionError({
          message: `${(error as Error).message}\n${JSON.stringify(reply).slice(0, 2000)}`,
        })
      }
    } catch (error) {
      throw new assert.AssertionError({ message: `${asked}\n→ ${(error as Error).message}` })
    }
  }
}
