/** Bounces and complaints that Amazon SES reports through SNS. */
import assert from 'node:assert/strict'
import { sign } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { createApi } from '../../daemon/api/index.ts'
import { listen } from '../../daemon/http/server.ts'
import { createInbound } from '../../daemon/inbound.ts'
import { mailHeaders } from '../../lib/index.ts'
import { testMailkeep } from '../../lib/testing.ts'
import { authority, certificate } from '../support/certificates.ts'
import { until } from '../support/harness.ts'

const topic = 'arn:aws:sns:eu-central-1:123456789012:bounces'
const certificateUrl = `https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-${'0a'.repeat(16)}.pem`
const subscribeUrl = 'https://sns.eu-central-1.amazonaws.com/?Action=ConfirmSubscription&Token=t'

const silent = { debug() {}, info() {}, warn() {}, error() {} }

type Fields = Record<string, string>

async function open(t: TestContext) {
  const kit = await testMailkeep()
  const keys = certificate('sns', { address: '192.0.2.1', rsa: true })
  const asked: string[] = []
  const state = { status: 200, answer: undefined as string | undefined, delay: Promise.resolve() }
  const fetch = async (url: string) => {
    asked.push(url)
    await state.delay
    return new Response(state.answer ?? keys.cert, { status: state.status })
  }
  const warnings: string[] = []
  const logger = { ...silent, warn: (_: object, message: string) => warnings.push(message) }
  const inbound = createInbound({ mailkeep: kit.mailkeep, logger, topics: [topic], fetch })
  const { surfaces } = createApi({ mailkeep: kit.mailkeep, inbound, logger })
  const server = await listen({ surfaces, logger, host: '127.0.0.1', port: 0 })
  t.after(async () => {
    await server.close()
    await kit.close()
  })
  let posted = 0
  const post = async (fields: Fields | string) => {
    const body = typeof fields === 'string' ? fields : JSON.stringify(fields)
    const headers = { 'content-type': 'text/plain; charset=UTF-8' }
    const path = posted++ % 2 === 0 ? '/inbound/ses' : '/api/v1/inbound/ses'
    return (await globalThis.fetch(`${server.url}${path}`, { method: 'POST', headers, body })).status
  }
  /** Signs like SNS: the fields in alphabetical order, each as its name and its value on lines of their own. */
  const signed = (fields: Fields, changes: Fields = {}): Fields => {
    const all: Fields = {
      Type: 'Notification',
      MessageId: 'b0ae7c3e-0000-4000-8000-000000000001',
      TopicArn: topic,
      Timestamp: new Date().toISOString(),
      SignatureVersion: '2',
      SigningCertURL: certificateUrl,
      ...fields,
    }
    const names = ['Message', 'MessageId', 'Subject', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type']
    const text = names.flatMap((name) => (name in all ? [`${name}\n${all[name]}\n`] : [])).join('')
    const algorithm = all.SignatureVersion === '1' ? 'RSA-SHA1' : 'RSA-SHA256'
    return { ...all, Signature: sign(algorithm, Buffer.from(text), keys.key).toString('base64'), ...changes }
  }
  const contact = await kit.contact({ email: 'ada@example.org' })
  const reasons = async () =>
    (await kit.client.suppressions.list()).data.map(({ email, reason }) => `${email} ${reason}`)
  const isMailed = async () => (await reasons()).length === 0
  const history = async () =>
    (await kit.client.contacts.history(contact.id)).data.map(({ type, source }) => `${type} ${source}`)
  const mail = mailHeaders({
    messageId: 'x',
    from: 'news@acme.example',
    clientId: kit.clientId,
    campaign: 'newsletter-7',
    unsubscribeUrl: 'https://x.example/',
  })
  const headers = Object.entries(mail).map(([name, value]) => ({ name, value }))
  const recipients = [{ emailAddress: 'Ada@example.org' }]
  const bounce = (bounceType: string) =>
    JSON.stringify({
      notificationType: 'Bounce',
      mail: { headers },
      bounce: { bounceType, bouncedRecipients: recipients },
    })
  const complaint = (complaintFeedbackType: string) =>
    JSON.stringify({
      eventType: 'Complaint',
      mail: { headers },
      complaint: { complaintFeedbackType, complainedRecipients: recipients },
    })
  return { kit, post, signed, asked, state, isMailed, reasons, history, bounce, complaint, server, warnings }
}

describe('POST /inbound/ses', { skip: authority ? false : 'OPENSSL IS MISSING: SNS is not tested' }, () => {
  for (const SignatureVersion of ['1', '2']) {
    test(`a hard bounce with a signature of version ${SignatureVersion} suppresses the address`, async (t) => {
      const { post, signed, asked, reasons, history, bounce } = await open(t)
      const notification = signed({ Message: bounce('Permanent'), Subject: 'Bounce', SignatureVersion })
      assert.equal(await post(notification), 200)
      assert.equal(await post(notification), 200, 'SNS may repeat it')
      assert.deepEqual(await reasons(), ['ada@example.org hard_bounce'])
      assert.deepEqual(await history(), ['bounced provider', 'list_joined library'])
      assert.deepEqual(asked, [certificateUrl], 'the certificate is read once')
    })
  }

  test('a complaint suppresses the address; a temporary bounce and a "not spam" report change nothing', async (t) => {
    const { post, signed, isMailed, reasons, bounce, complaint } = await open(t)
    for (const Message of [bounce('Transient'), complaint('not-spam'), 'no JSON', '{}', '[]']) {
      assert.equal(await post(signed({ Message })), 200)
      assert.equal(await isMailed(), true, Message)
    }
    assert.equal(await post(signed({ Message: complaint('abuse') })), 200)
    assert.deepEqual(await reasons(), ['ada@example.org complaint'])
  })

  for (const [shape, reported] of [
    ['with a name', '=?UTF-8?Q?Ad=C3=A1?= <Ada@example.org>'],
    ['with a quoted name', '"Ada <1815>" <Ada@example.org>'],
    ['in angle brackets', '<Ada@example.org>'],
  ] as const) {
    test(`a report that shows the address as the header To has it, ${shape}, suppresses the address`, async (t) => {
      const { post, signed, reasons, bounce } = await open(t)
      const Message = bounce('Permanent').replace('"Ada@example.org"', JSON.stringify(reported))
      assert.equal(await post(signed({ Message })), 200)
      assert.deepEqual(await reasons(), ['ada@example.org hard_bounce'])
    })
  }

  test('an address with an internationalised domain is found, in whichever form it is stored', async (t) => {
    const { kit, post, signed, reasons, bounce } = await open(t)
    const ascii = 'ada@xn--bcher-kva.example'
    const Message = bounce('Permanent').replace('Ada@example.org', ascii)
    const { id } = await kit.contact({ email: 'ada@bücher.example' })
    assert.equal(await post(signed({ Message })), 200)
    assert.deepEqual(await reasons(), ['ada@bücher.example hard_bounce'])
    await kit.client.contacts.delete(id)
    await kit.contact({ email: ascii })
    assert.equal(await post(signed({ Message })), 200)
    assert.deepEqual(await reasons(), [`${ascii} hard_bounce`])
  })

  test('unknown clients and addresses are ignored', async (t) => {
    const { post, signed, isMailed, bounce } = await open(t)
    const other = bounce('Permanent').replace(/client-\d+/g, 'client-999')
    assert.equal(await post(signed({ Message: other })), 200)
    assert.equal(await post(signed({ Message: bounce('Permanent').replace('Ada@', 'eve@') })), 200)
    assert.equal(await isMailed(), true)
  })

  test('a report without the original headers changes nothing, and is logged', async (t) => {
    const { post, signed, isMailed, bounce, warnings } = await open(t)
    const { mail: _, ...rest } = JSON.parse(bounce('Permanent'))
    assert.equal(await post(signed({ Message: JSON.stringify({ ...rest, mail: {} }) })), 200)
    assert.equal(await isMailed(), true)
    assert.deepEqual(
      warnings.map((text) => /include the original headers/.test(text)),
      [true],
    )
    assert.equal(await post(signed({ Message: JSON.stringify({ notificationType: 'Delivery', mail: {} }) })), 200)
    assert.equal(warnings.length, 1)
  })

  test('a recipient whose address cannot be read is logged, and the others count', async (t) => {
    const { post, signed, reasons, bounce, warnings } = await open(t)
    const unreadable = [{ emailAddress: null }, {}, 'eve@example.org', { emailAddress: 'x'.repeat(4001) }]
    const recipients = JSON.stringify([...unreadable, { emailAddress: 'Ada@example.org' }])
    const Message = bounce('Permanent').replace(/\[\{"emailAddress".*?\]/, recipients)
    assert.equal(await post(signed({ Message })), 200)
    assert.deepEqual(await reasons(), ['ada@example.org hard_bounce'])
    assert.deepEqual(
      warnings.map((text) => /its address cannot be read/.test(text)),
      unreadable.map(() => true),
    )
  })

  test('what is not signed as it is, too old, or of another topic or host is refused', async (t) => {
    const { post, signed, asked, isMailed, bounce } = await open(t)
    const Message = bounce('Permanent')
    const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString()
    for (const notification of [
      signed({ Message: bounce('Transient') }, { Message }),
      signed({ Message }, { Signature: 'AAAA' }),
      signed({ Message }, { SignatureVersion: '1' }),
      signed({ Message }, { MessageId: 'b0ae7c3e-0000-4000-8000-000000000002' }),
      signed({ Message, Timestamp: ago(95) }),
      signed({ Message, Timestamp: ago(-20) }),
      signed({ Message, TopicArn: 'arn:aws:sns:eu-central-1:123456789012:other' }),
    ]) {
      assert.equal(await post(notification), 403)
    }
    asked.length = 0
    for (const SigningCertURL of [
      certificateUrl.replace('https', 'http'),
      certificateUrl.replace('amazonaws.com', 'amazonaws.com.evil.example'),
      certificateUrl.replace('sns.eu-central-1', 'evil.example/sns.eu-central-1'),
      certificateUrl.replace('sns.eu-central-1', 'sns.us-east-1'),
      certificateUrl.replace('sns.eu-central-1', 'bucket.s3'),
      certificateUrl.replace('amazonaws.com', 'amazonaws.com:8443'),
      certificateUrl.replace('https://', 'https://user@'),
      certificateUrl.replace('SimpleNotificationService', '../evil'),
      `${certificateUrl}?x`,
      'nonsense',
    ]) {
      assert.equal(await post(signed({ Message, SigningCertURL })), 403, SigningCertURL)
    }
    assert.deepEqual(asked, [], 'other hosts are not asked')
    assert.equal(await isMailed(), true)
  })

  test('a subscription of a configured topic is confirmed, after its signature was verified', async (t) => {
    const { post, signed, asked } = await open(t)
    const fields = { Type: 'SubscriptionConfirmation', Message: 'm', Token: 't', SubscribeURL: subscribeUrl }
    const evil = 'https://evil.example/?Action=ConfirmSubscription'
    assert.equal(await post(signed(fields, { SubscribeURL: evil })), 403)
    assert.equal(await post(signed({ ...fields, SubscribeURL: evil })), 403)
    assert.equal(await post(signed({ ...fields, TopicArn: `${topic}2` })), 403)
    assert.deepEqual(asked, [certificateUrl])
    assert.equal(await post(signed(fields)), 200)
    assert.deepEqual(asked, [certificateUrl, subscribeUrl])
    assert.equal(await post(signed({ ...fields, Type: 'UnsubscribeConfirmation' })), 200)
    assert.equal(asked.length, 2, 'the end of a subscription is left as it is')
  })

  test('while Amazon cannot be asked the answer is 503, so that SNS repeats the notification', async (t) => {
    const { post, signed, state, isMailed, bounce } = await open(t)
    const notification = signed({ Message: bounce('Permanent') })
    state.status = 500
    assert.equal(await post(notification), 503)
    Object.assign(state, { status: 200, answer: 'x'.repeat(100_000) })
    assert.equal(await post(notification), 503)
    state.answer = 'no certificate'
    assert.equal(await post(notification), 503)
    assert.equal(await isMailed(), true)
    state.answer = undefined
    assert.equal(await post(notification), 200)
    assert.equal(await isMailed(), false)
  })

  test('anything else is refused', async (t) => {
    const { post, signed, server } = await open(t)
    assert.equal(await post('{'), 400)
    assert.equal(await post('[]'), 422)
    assert.equal(await post('x'.repeat(700_000)), 413)
    const { Signature: _, ...unsigned } = signed({ Message: 'x' })
    assert.equal(await post(unsigned), 422)
    const got = await fetch(`${server.url}/inbound/ses`)
    assert.deepEqual([got.status, got.headers.get('allow')], [405, 'POST'])
  })

  test('leaves memory for bodies with a token, however many requests without one declare a large body', async (t) => {
    const { kit, post, signed, server } = await open(t)
    assert.equal(await post(signed({ Message: '"'.repeat(256 * 1024) })), 200, 'as large as SNS sends it')
    const { token } = await kit.mailkeep.tokens.create({ clientId: kit.clientId, role: 'admin' })
    const { hostname, port } = new URL(server.url)
    const sockets = Array.from({ length: 120 }, () => {
      const socket = connect(Number(port), hostname)
      t.after(() => socket.destroy())
      return socket
    })
    const refused = sockets.map(async (socket) => {
      socket.write('POST /inbound/ses HTTP/1.1\r\nHost: x\r\nContent-Length: 614400\r\nExpect: 100-continue\r\n\r\n')
      const [answer] = await once(socket, 'data')
      return String(answer).startsWith('HTTP/1.1 503')
    })
    const refusals = (await Promise.all(refused)).filter(Boolean)
    const response = await fetch(`${server.url}/api/v1/contacts/batch`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ contacts: [{ email: 'bob@example.org', note: 'x'.repeat(900_000) }] }),
    })
    assert.equal(response.status, 422, 'the body is read')
    assert.equal(refusals.length, 70)
    for (const socket of sockets) socket.destroy()
  })

  test('leaves memory for bodies with a token while Amazon does not answer', async (t) => {
    const { kit, post, signed, server, asked, state } = await open(t)
    const { token } = await kit.mailkeep.tokens.create({ clientId: kit.clientId, role: 'admin' })
    let answer = () => {}
    state.delay = new Promise((resolve) => {
      answer = resolve
    })
    t.after(() => answer())
    const forged = JSON.stringify(signed({ Message: 'x'.repeat(590 * 1024) }, { Signature: 'AAAA' }))
    let refused = 0
    const statuses = Array.from({ length: 120 }, async () => {
      const status = await post(forged)
      if (status === 503) refused++
      return status
    })
    await until(
      async () => asked.length + refused,
      (count) => count === 120,
    )
    const response = await fetch(`${server.url}/api/v1/contacts/batch`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ contacts: [{ email: 'bob@example.org', note: 'x'.repeat(900_000) }] }),
    })
    assert.equal(response.status, 422, 'the body is read')
    answer()
    assert.equal((await Promise.all(statuses)).filter((status) => status === 403).length, 50)
  })

  test('is not found where no topic is configured', async (t) => {
    const kit = await testMailkeep()
    const { surfaces } = createApi({ mailkeep: kit.mailkeep, logger: silent })
    const server = await listen({ surfaces, logger: silent, host: '127.0.0.1', port: 0 })
    t.after(async () => {
      await server.close()
      await kit.close()
    })
    assert.equal((await fetch(`${server.url}/inbound/ses`, { method: 'POST', body: '{}' })).status, 404)
    const belowPrefix = await fetch(`${server.url}/api/v1/inbound/ses`, { method: 'POST', body: '{}' })
    assert.equal(belowPrefix.status, 401, 'as every unknown route under /api/v1')
  })
})
