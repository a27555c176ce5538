import assert from 'node:assert/strict'
import { createApi } from '../../daemon/api/index.ts'
import { CapturingTransport } from '../../lib/testing/mail.ts'
import { testMailkeep } from '../../lib/testing.ts'
import { withBody } from '../support/api-request.ts'
import { test } from '../support/databases.ts'
import { overHttp, type Service, until } from '../support/harness.ts'
import { assertInvalid } from '../support/http-call.ts'

const html = '<p>Hello {{ contact.name }}</p><a href="{{ unsubscribe_url }}">Unsubscribe</a>'

/** Adds a sender and a list with contacts. */
async function addReaders({ client, data }: Service, count: number): Promise<number> {
  await client.identities.add({ email: 'news@acme.example', name: 'Acme', status: 'verified' })
  const { id } = await data(201, 'POST', '/lists', { body: { name: 'Readers' } })
  for (let at = 0; at < count; at++) {
    await data(201, 'POST', `/lists/${id}/contacts`, { body: { email: `r${at}@example.org`, name: `Reader ${at}` } })
  }
  return id
}

const fast = () => ({ mail: { transport: new CapturingTransport(Date.now), rate: 1000, connections: 5 } })

overHttp('newsletters over HTTP', (open) => {
  test('are created, previewed, sent and counted', async (t) => {
    const options = fast()
    const service = await open(t, options)
    const { data } = service
    const list = await addReaders(service, 3)
    const body = { name: 'January', subject: 'News', html, audience: { lists: [list] } }
    const draft = await data(201, 'POST', '/newsletters', { body })
    assert.equal(draft.status, 'draft')
    assert.deepEqual(draft.counts, { recipients: 0, pending: 0, sent: 0, failed: 0, skipped: 0, uncertain: 0 })
    assert.deepEqual(await data(200, 'GET', `/newsletters/${draft.id}/audience`), { count: 3 })
    const [contact] = await data(200, 'GET', '/contacts')
    const preview = await data(200, 'POST', `/newsletters/${draft.id}/preview`, { body: { contact_id: contact.id } })
    assert.deepEqual(Object.keys(preview).sort(), ['html', 'subject', 'text'])
    const same = { body: { contact_id: { email: contact.email } } }
    assert.equal((await data(200, 'POST', `/newsletters/${draft.id}/preview`, same)).subject, preview.subject)
    assert.match(preview.html, /Hello Reader 0/)
    const tested = await data(200, 'POST', `/newsletters/${draft.id}/test`, { body: { emails: ['me@example.org'] } })
    assert.deepEqual(tested, [{ email: 'me@example.org', status: 'sent', error: null }])
    await data(202, 'POST', `/newsletters/${draft.id}/send`)
    const sent = await until(
      () => data(200, 'GET', `/newsletters/${draft.id}`),
      ({ status }) => status === 'sent',
    )
    assert.deepEqual(sent.counts, { recipients: 3, pending: 0, sent: 3, failed: 0, skipped: 0, uncertain: 0 })
    const messages = await data(200, 'GET', `/newsletters/${draft.id}/messages`, { query: 'status=sent&per_page=2' })
    assert.equal(messages.length, 2)
    const [message] = await data(200, 'GET', `/contacts/${contact.id}/messages`)
    assert.equal(message.newsletter_id, draft.id)
    await data(422, 'POST', `/newsletters/${draft.id}/send`)
    await data(422, 'PATCH', `/newsletters/${draft.id}`, { body: { subject: 'Late' } })
    await data(200, 'PATCH', `/newsletters/${draft.id}`, { body: { name: 'January, sent' } })
    assert.equal(options.mail.transport.captured.length, 4)
  })

  test('are previewed with content that is not stored', async (t) => {
    const service = await open(t, fast())
    const { data } = service
    const { id: contact_id } = await data(200, 'POST', '/contacts', {
      body: { email: 'ada@unsaved.example', name: 'Ada' },
    })
    const stored = { subject: 'News', html, text: 'Stored {{ unsubscribe_url }}', preheader: 'Stored line' }
    const { id } = await data(201, 'POST', '/newsletters', { body: stored })
    const preview = (fields: object) =>
      data(200, 'POST', `/newsletters/${id}/preview`, { body: { contact_id, ...fields }, token: service.member })
    assert.equal((await preview({ subject: 'For {{ contact.name }}' })).subject, 'For Ada')
    assert.match((await preview({ subject: 'Other' })).text, /^Stored /)
    const changed = await preview({ html: '<p>Bye</p>{{ unsubscribe_url }}', text: null, preheader: null })
    assert.equal(changed.subject, 'News')
    assert.match(changed.html, /^<p>Bye/)
    assert.match(changed.text, /^Bye/)
    for (const [wrong, field] of [
      [{ subject: '{{ contact.nmae }}' }, 'subject'],
      [{ html: '<p>Bye</p>' }, 'html'],
      [{ subject: '' }, 'subject'],
      [{ subject: null }, 'subject'],
    ] as const) {
      const answer = await service.call('POST', `/newsletters/${id}/preview`, { body: { contact_id, ...wrong } })
      assertInvalid(answer, field)
    }
    const { subject, text, preheader } = await data(200, 'GET', `/newsletters/${id}`)
    assert.deepEqual({ subject, text, preheader, html }, stored)
  })

  test('deliver newsletter.sent to endpoints that ask for it', async (t) => {
    const service = await open(t, fast())
    const { data } = service
    const list = await addReaders(service, 1)
    const receiver = await service.receiver()
    const hook = { url: receiver.url(), events: ['newsletter.sent'] }
    await data(201, 'POST', '/webhook-endpoints', { body: hook })
    const { id } = await data(201, 'POST', '/newsletters', {
      body: { subject: 'News', html, audience: { lists: [list] } },
    })
    await data(202, 'POST', `/newsletters/${id}/send`)
    const [endpoint] = await data(200, 'GET', '/webhook-endpoints')
    const deliveries = `/webhook-endpoints/${endpoint.id}/deliveries`
    const [delivery] = await until(
      () => data(200, 'GET', deliveries),
      (all) => all.length > 0,
    )
    const { payload } = await data(200, 'GET', `${deliveries}/${delivery.id}`)
    assert.equal(payload.data.newsletter.id, id)
    assert.equal(payload.data.counts.sent, 1)
    assert.equal(payload.data.newsletter.html, undefined)
  })

  test('are drafted by members, and sent by admins', async (t) => {
    const service = await open(t)
    const { data, member, call } = service
    await addReaders(service, 2)
    const { id } = await data(201, 'POST', '/newsletters', { body: { subject: 'News', html }, token: member })
    await data(200, 'PATCH', `/newsletters/${id}`, { body: { name: 'January' }, token: member })
    await data(403, 'POST', `/newsletters/${id}/send`, { token: member })
    for (const at of ['tomorrow', '2999-02-30T00:00:00Z']) {
      const refused = await call('POST', `/newsletters/${id}/send`, { body: { at } })
      assertInvalid(refused, 'at')
      assert.equal(refused.body.errors.at.length, 1, 'one message')
    }
    const scheduled = await data(202, 'POST', `/newsletters/${id}/send`, { body: { at: '2999-01-01T00:00:00Z' } })
    assert.equal(scheduled.scheduled_at, '2999-01-01T00:00:00.000000Z')
    await data(403, 'PATCH', `/newsletters/${id}`, { body: { name: 'Other' }, token: member })
    await data(200, 'PATCH', `/newsletters/${id}`, { body: { name: 'Other' } })
    await data(403, 'DELETE', `/newsletters/${id}`, { token: member })
    await data(200, 'POST', `/newsletters/${id}/cancel`)
    await data(403, 'DELETE', `/newsletters/${id}`, { token: member })
    await data(204, 'DELETE', `/newsletters/${id}`)
    assert.equal((await call('GET', `/newsletters/${id}`)).status, 404)
  })
})

overHttp('sequences over HTTP', (open) => {
  test('are created with steps, and enrol contacts', async (t) => {
    const service = await open(t, fast())
    const { data } = service
    const list = await addReaders(service, 0)
    const { id } = await data(201, 'POST', '/sequences', { body: { name: 'Welcome', list_id: list } })
    const steps = [
      { delay_seconds: 0, subject: 'One', html },
      { delay_seconds: 86_400, subject: 'Two', html },
    ]
    const sequence = await data(200, 'PUT', `/sequences/${id}/steps`, { body: { steps } })
    assert.deepEqual(
      sequence.steps.map(({ subject, position }: { subject: string; position: number }) => [position, subject]),
      [
        [1, 'One'],
        [2, 'Two'],
      ],
    )
    const contact = await data(201, 'POST', `/lists/${list}/contacts`, { body: { email: 'ada@example.org' } })
    const draft = { contact_id: contact.id, subject: 'For {{ contact.email }}', html }
    const preview = await data(200, 'POST', `/sequences/${id}/preview`, { body: draft, token: service.member })
    assert.deepEqual(Object.keys(preview).sort(), ['html', 'subject', 'text'])
    assert.equal(preview.subject, 'For ada@example.org')
    await data(403, 'POST', `/sequences/${id}/preview`, { body: draft, token: service.viewer })
    for (const [wrong, field] of [
      [{ ...draft, html: '<p>{{ contact.nme }}</p>' }, 'html'],
      [{ contact_id: contact.id, html }, 'subject'],
    ] as const) {
      assertInvalid(await service.call('POST', `/sequences/${id}/preview`, { body: wrong }), field)
    }
    await data(404, 'POST', `/sequences/${id}/preview`, { body: { ...draft, contact_id: 999_999 } })
    const messages = await until(
      () => data(200, 'GET', `/contacts/${contact.id}/messages`),
      ([first]) => first?.status === 'sent',
    )
    assert.equal(messages[0].step_id, sequence.steps[0].id)
    await data(204, 'DELETE', `/sequences/${id}/enrolments/${contact.id}`)
    const [enrolment] = await data(200, 'GET', `/sequences/${id}/enrolments`)
    assert.deepEqual([enrolment.status, enrolment.reason], ['stopped', 'manual'])
    await data(201, 'POST', `/sequences/${id}/enrolments`, { body: { contact_id: contact.id } })
    await data(422, 'POST', `/sequences/${id}/enrolments`, { body: { contact_id: 999_999 } })
  })
})

test('counts of contacts wait until large answers may be built, because they may take as long', async () => {
  await using kit = await testMailkeep()
  const newsletter = await kit.client.newsletters.create({ subject: 'News', html })
  const { token } = await kit.mailkeep.tokens.create({ clientId: kit.clientId, role: 'viewer' })
  const { answer } = createApi({ mailkeep: kit.mailkeep })
  const list = await kit.client.lists.create({ name: 'News' })
  const counting = [
    ...['/contacts/count', '/stats/contacts?count=1', `/newsletters/${newsletter.id}/audience`],
    ...['/lists?counts=1', '/tags?counts=1', `/lists/${list.id}/topics?counts=1`],
  ]
  for (const path of [...counting, '/lists', '/stats/contacts']) {
    let caller: number | undefined
    const builtFor: unknown[] = []
    const { status } = await answer({
      method: 'GET',
      target: `/api/v1${path}`,
      headers: { authorization: `Bearer ${token}` },
      ...withBody(),
      identify: (clientId) => {
        caller = clientId
      },
      buildLarge: (make) => {
        builtFor.push(caller)
        return make()
      },
    })
    assert.deepEqual([status, builtFor], [200, counting.includes(path) ? [kit.clientId] : []], path)
  }
})

test('previews wait until large answers may be built, and keep to their idempotency key', async () => {
  await using kit = await testMailkeep()
  const { id: contact_id } = await kit.contact({ email: 'ada@example.org' })
  const newsletter = await kit.client.newsletters.create({ subject: 'News', html })
  const sequence = await kit.client.sequences.create({ name: 'Welcome' })
  const { token } = await kit.mailkeep.tokens.create({ clientId: kit.clientId, role: 'admin' })
  const { answer } = createApi({ mailkeep: kit.mailkeep })
  const built: string[] = []
  const preview = (path: string, fields: object) => {
    const body = Buffer.from(JSON.stringify({ contact_id, ...fields }))
    const ofBody = { 'content-type': 'application/json', 'content-length': String(body.length) }
    return answer({
      method: 'POST',
      target: `/api/v1${path}/preview`,
      headers: { authorization: `Bearer ${token}`, 'idempotency-key': path, ...ofBody },
      ...withBody(body),
      buildLarge: (make) => {
        built.push(path)
        return make()
      },
    })
  }
  const paths = { [`/newsletters/${newsletter.id}`]: {}, [`/sequences/${sequence.id}`]: { subject: 'Hi', html } }
  for (const [path, fields] of Object.entries(paths)) {
    const first = await preview(path, fields)
    assert.equal(first.status, 200, first.body)
    assert.equal((await preview(path, fields)).headers['Idempotency-Replayed'], 'true')
  }
  assert.deepEqual([...new Set(built)], Object.keys(paths))
})
