/** The SMTP transport, against real servers. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { describe, test } from 'node:test'
import type { SMTPServerOptions } from 'smtp-server'
import { isMailkeepError } from '../../lib/index.ts'
import { mailHeaders } from '../../lib/sending/headers.ts'
import { isUncertainError } from '../../lib/sending/transport.ts'
import { smtp } from '../../lib/sending/transports/smtp.ts'
import { authority, certificate } from '../support/certificates.ts'
import {
  connect,
  headerLines,
  message,
  openMailServer,
  openRawServer,
  parsed,
  reply,
  type Script,
} from './mail-server.ts'

function rsaKey(): string {
  return generateKeyPairSync('rsa', { modulusLength: 2048 })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString()
}

describe('smtp', () => {
  test('hands over a message unchanged', async (t) => {
    const server = await openMailServer(t)
    const { send } = connect(t, server.port)
    assert.equal((await send()).kind, 'sent')
    assert.deepEqual(server.envelopes, [
      { from: 'news@acme.example', to: ['ada@example.org'], secure: true, user: undefined },
    ])
    const mail = await parsed(server.received[0]!)
    assert.deepEqual([mail.from?.name, mail.from?.address], [message.from.name, message.from.email])
    assert.deepEqual([mail.to?.[0]?.name, mail.to?.[0]?.address], [message.to.name, message.to.email])
    assert.deepEqual(
      mail.replyTo?.map(({ address }) => address),
      ['office@acme.example'],
    )
    assert.deepEqual(
      [mail.subject, mail.text?.trimEnd(), mail.html?.trimEnd()],
      [message.subject, message.text, message.html],
    )
    assert.equal(mail.headers.find(({ key }) => key === 'x-test')?.value, 'one')
    assert.ok(!mail.headers.some(({ key }) => key === 'x-mailer'))
  })

  test('says the host name of its options in EHLO', async (t) => {
    const names: string[] = []
    const server = await openMailServer(t, {
      onMailFrom: (_address, { hostNameAppearsAs }, done) => {
        names.push(String(hostNameAppearsAs))
        done()
      },
    })
    assert.equal((await connect(t, server.port, { ehloName: 'mail.acme.example' }).send()).kind, 'sent')
    assert.deepEqual(names, ['mail.acme.example'])
    for (const ehloName of ['', 'a b', 'a\r\nQUIT']) {
      assert.throws(() => smtp({ url: 'smtp://127.0.0.1', ehloName }), /ehloName must be a host name/)
    }
  })

  test('hands over the headers of newsletters, each on one line', async (t) => {
    const server = await openMailServer(t)
    const { send } = connect(t, server.port)
    const unsubscribeUrl = `https://mail.example.com/c/${'x'.repeat(200)}/unsubscribe`
    const headers = mailHeaders({
      ...{ messageId: message.id, from: message.from.email, clientId: 1, campaign: 'newsletter-7', unsubscribeUrl },
    })
    assert.equal((await send({ headers })).kind, 'sent')
    const lines = headerLines(server.received[0]!)
    for (const [name, value] of Object.entries(headers)) {
      assert.deepEqual(
        lines.filter((line) => line.toLowerCase().startsWith(`${name.toLowerCase()}:`)),
        [`${name}: ${value}`],
      )
    }
  })

  test('names and subjects cannot add headers or recipients', async (t) => {
    const server = await openMailServer(t)
    const { send } = connect(t, server.port)
    const hostile = 'x\r\nBcc: eve@example.org\r\n\r\nbody <eve@example.org>, eve@example.org'
    const from = { name: hostile, email: 'news@acme.example' }
    await send({
      from,
      to: { name: hostile, email: 'ada@example.org' },
      subject: hostile,
      headers: { 'X-Test': hostile },
    })
    assert.deepEqual(server.envelopes[0]?.to, ['ada@example.org'])
    const mail = await parsed(server.received[0]!)
    assert.deepEqual([mail.from?.address, mail.to?.length, mail.bcc], ['news@acme.example', 1, undefined])
    assert.equal(mail.to?.[0]?.address, 'ada@example.org')
    for (const name of [mail.from?.name, mail.to?.[0]?.name, mail.subject]) assert.doesNotMatch(name!, /\p{Cc}/u)
    assert.equal(mail.text?.trimEnd(), message.text)
  })

  test('names and subjects that look encoded are shown as they are, and hide no line breaks', async (t) => {
    const server = await openMailServer(t)
    const { send } = connect(t, server.port)
    const encoded = '=?utf-8?Q?x=0D=0ABcc:_eve@example.org?= =?UTF-8?b?QWRh?='
    await send({
      from: { name: encoded, email: 'news@acme.example' },
      to: { name: encoded, email: 'ada@example.org' },
      subject: encoded,
    })
    const mail = await parsed(server.received[0]!)
    for (const text of [mail.from?.name, mail.to?.[0]?.name, mail.subject])
      assert.equal(text?.replaceAll('\u2060', ''), encoded)
  })

  test('an internationalised domain is sent in its ASCII form', async (t) => {
    const server = await openMailServer(t)
    const { send } = connect(t, server.port)
    assert.equal((await send({ to: { name: null, email: 'ada@bücher.example' } })).kind, 'sent')
    assert.match(server.received[0]!.toString(), /^To: ada@xn--bcher-kva\.example\r$/m)
  })

  test('keeps its connections open for further messages, at most as many as allowed', async (t) => {
    const server = await openMailServer(t)
    const { send } = connect(t, server.port, { connections: 2 })
    await Promise.all(Array.from({ length: 12 }, () => send()))
    assert.equal(server.received.length, 12)
    assert.equal(server.connections, 2)
  })

  test('logs in with the user and the password of the URL', async (t) => {
    const onAuth: SMTPServerOptions['onAuth'] = ({ username, password }, _session, done) =>
      username === 'us:er' && password === 'p@ss/' ? done(null, { user: 'us:er' }) : done(reply(535, 'wrong'))
    const server = await openMailServer(t, { onAuth, authOptional: false })
    const right = connect(t, server.port, { url: `smtp://us%3Aer:p%40ss%2F@127.0.0.1:${server.port}` })
    assert.equal((await right.send()).kind, 'sent')
    assert.equal(server.envelopes[0]?.user, 'us:er')
    await right.transport.check?.()
    const wrong = connect(t, server.port, { url: `smtp://us%3Aer:secret@127.0.0.1:${server.port}` })
    const outcome = await wrong.send()
    assert.equal(outcome.kind, 'temporary', 'the message is not to blame')
    assert.doesNotMatch(JSON.stringify(outcome), /secret/)
    await assert.rejects(async () => wrong.transport.check?.(), /535|login/i)
    assert.equal((await connect(t, server.port).send()).kind, 'temporary', 'the server asks for a login')
  })

  test('a signature can be verified', async (t) => {
    if (Number(process.versions.node.split('.')[0]) < 22) return t.skip('MAILAUTH NEEDS NODE 22: DKIM is not verified')
    const { authenticate } = await import('mailauth')
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    const server = await openMailServer(t)
    const { send } = connect(t, server.port, {
      dkim: { domain: 'acme.example', selector: 'mk', privateKey: pem },
    })
    await send()
    const record = `v=DKIM1; k=rsa; p=${publicKey.export({ type: 'spki', format: 'der' }).toString('base64')}`
    const resolver = async (name: string, type: string) => {
      if (name === 'mk._domainkey.acme.example' && type === 'TXT') return [[record]]
      throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' })
    }
    const verify = async (mail: Buffer | string) => {
      const { dkim } = await authenticate(mail, {
        ip: '192.0.2.1',
        helo: 'x',
        sender: message.from.email,
        resolver,
      } as never)
      return dkim.results.map(({ status }: { status: { result: string } }) => status.result)
    }
    assert.deepEqual(await verify(server.received[0]!), ['pass'])
    assert.notDeepEqual(await verify(server.received[0]!.toString('latin1').replace('Ada', 'Eve')), ['pass'])
  })

  test('a signature covers both headers that unsubscribe with one click', async (t) => {
    const server = await openMailServer(t)
    const { send } = connect(t, server.port, { dkim: { domain: 'acme.example', selector: 'mk', privateKey: rsaKey() } })
    const unsubscribeUrl = 'https://mail.example.com/c/x/unsubscribe'
    const headers = mailHeaders({
      ...{ messageId: message.id, from: message.from.email, clientId: 1, campaign: 'newsletter-7', unsubscribeUrl },
    })
    await send({ headers })
    const [, signature = ''] = /^DKIM-Signature:((?:.*\r\n[ \t])*.*)/m.exec(server.received[0]!.toString()) ?? []
    const [, covered = ''] = /;\s*h=([^;]*);/.exec(signature) ?? []
    const names = covered.replace(/\s/g, '').split(':')
    for (const name of ['list-unsubscribe', 'list-unsubscribe-post', 'from', 'subject', 'list-id', 'feedback-id'])
      assert.ok(names.includes(name), `${name} is not in ${names}`)
  })

  for (const [what, privateKey] of [
    ['no key', 'secret'],
    ['a key of another type', generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' })],
  ] as const) {
    test(`refuses to sign with ${what}, instead of sending messages without a signature`, () => {
      const dkim = { domain: 'acme.example', selector: 'mk', privateKey: String(privateKey) }
      assert.throws(
        () => smtp({ url: 'smtp://127.0.0.1', dkim }),
        (error) =>
          isMailkeepError(error, 'validation_failed') &&
          'dkim.privateKey' in error.errors! &&
          !error.message.includes(dkim.privateKey),
      )
    })
  }

  for (const [options, field] of [
    [{ url: 'http://127.0.0.1' }, 'url'],
    [{ url: 'smtp://user:secret@' }, 'url'],
    [{ url: 'smtp://u:secret@127.0.0.1/path' }, 'url'],
    [{ url: 'smtp://u:secret@127.0.0.1?tls=no' }, 'url'],
    [{ url: 'smtp://u:%secret@127.0.0.1' }, 'url'],
    [{ url: undefined }, 'url'],
    [{ url: 'smtp://127.0.0.1', pool: true }, 'pool'],
    [{ url: 'smtp://127.0.0.1', dkim: { keys: 1 } }, 'keys'],
  ] as const) {
    test(`refuses ${JSON.stringify(options)}`, () => {
      assert.throws(
        () => smtp(options as never),
        (error) =>
          isMailkeepError(error, 'validation_failed') && field in error.errors! && !/secret/.test(error.message),
      )
    })
  }
})

describe('TLS of smtp', { skip: authority ? false : 'OPENSSL IS MISSING: certificates are not tested' }, () => {
  // 0.0.0.0 reaches this machine, but does not count as it.
  const elsewhere = (port: number, protocol = 'smtp') => `${protocol}://0.0.0.0:${port}`
  const good = () => certificate('good', { address: '0.0.0.0' })

  for (const secure of [false, true]) {
    const protocol = secure ? 'smtps' : 'smtp'
    test(`${protocol}: sends where the certificate is valid`, async (t) => {
      const server = await openMailServer(t, { ...good(), secure })
      const { send } = connect(t, server.port, { url: elsewhere(server.port, protocol), ca: authority! })
      assert.equal((await send()).kind, 'sent')
      assert.equal(server.envelopes[0]?.secure, true)
    })

    for (const [what, keys] of [
      ['is for another host', () => certificate('other', { address: '192.0.2.1' })],
      ['is self-signed', () => certificate('selfsigned', { address: '0.0.0.0', selfSigned: true })],
    ] as const) {
      test(`${protocol}: sends nothing where the certificate ${what}`, async (t) => {
        const server = await openMailServer(t, { ...keys(), secure })
        const { send, transport } = connect(t, server.port, { url: elsewhere(server.port, protocol), ca: authority! })
        assert.equal((await send()).kind, 'temporary')
        await assert.rejects(async () => transport.check?.())
        assert.equal(server.received.length, 0)
      })
    }
  }

  test('sends nothing to another host without STARTTLS', async (t) => {
    const server = await openMailServer(t, { hideSTARTTLS: true, disabledCommands: ['STARTTLS'] })
    const { send, transport } = connect(t, server.port, { url: elsewhere(server.port) })
    assert.equal((await send()).kind, 'temporary')
    await assert.rejects(async () => transport.check?.())
    assert.equal(server.received.length, 0)
  })

  test('sends to this machine without TLS', async (t) => {
    const server = await openMailServer(t, { hideSTARTTLS: true, disabledCommands: ['STARTTLS'] })
    const { send, transport } = connect(t, server.port)
    await transport.check?.()
    assert.equal((await send()).kind, 'sent')
    assert.equal(server.envelopes[0]?.secure, false)
  })
})

describe('what a reply means', () => {
  const cases: [at: string, reply: string, outcome: string][] = [
    ['connect', '421 4.7.0 too many connections', 'temporary'],
    ['connect', '554 5.7.1 your address is blocked', 'temporary'],
    ['EHLO', '421 4.3.2 shutting down', 'temporary'],
    ['MAIL', '450 4.7.1 slow down', 'temporary'],
    ['MAIL', '530 5.7.0 authentication required', 'temporary'],
    ['MAIL', '550 5.7.60 not allowed to send as this sender', 'permanent'],
    ['MAIL', '550 5.1.8 unknown sender', 'permanent'],
    ['RCPT', '450 4.2.0 greylisted', 'temporary'],
    ['RCPT', '452 4.2.2 mailbox full', 'temporary'],
    ['RCPT', '421 4.7.0 try again later', 'temporary'],
    ['RCPT', '550 5.1.1 no such person', 'unknown mailbox'],
    ['RCPT', '550 5.1.10 null MX', 'unknown mailbox'],
    ['RCPT', '550 No such user here', 'unknown mailbox'],
    ['RCPT', '550 Requested action not taken: mailbox unavailable', 'unknown mailbox'],
    ['RCPT', '550 5.7.1 your message looks like spam, user unknown', 'permanent'],
    ['RCPT', '550 blocked by policy', 'permanent'],
    [
      'RCPT',
      '550-Verification failed for <news@acme.example>\r\n550-No such user here\r\n550 Sender verify failed',
      'permanent',
    ],
    ['RCPT', '550 Sender address rejected: user unknown in relay recipient table', 'permanent'],
    ['RCPT', '550 SPF check failed: mailbox unavailable', 'permanent'],
    ['RCPT', '550 Blocked as spam, mailbox unavailable', 'permanent'],
    ['RCPT', '550 Too many invalid recipients', 'permanent'],
    ['RCPT', '552 5.2.2 mailbox full', 'permanent'],
    ['RCPT', '550 Invalid recipient: <eve@example.org>', 'permanent'], // of OpenSMTPD, where it relays without a login only
    ['RCPT', '554 5.7.1 <ada@example.org>: Relay access denied', 'temporary'],
    ['RCPT', '554 5.7.1 <ada@example.org>: Recipient address rejected: Access denied', 'temporary'],
    ['RCPT', '553 5.7.1 <news@acme.example>: Sender address rejected: not logged in', 'temporary'],
    ['RCPT', '504 5.5.2 <localhost>: Helo command rejected: need fully-qualified hostname', 'temporary'],
    ['RCPT', '554 5.7.1 <box[192.0.2.1]>: Client host rejected: Access denied', 'temporary'],
    ['RCPT', '550 relay not permitted', 'temporary'],
    ['RCPT', '550 5.7.54 SMTP; Unable to relay recipient in non-accepted domain', 'temporary'],
    ['RCPT', '550-Please turn on SMTP Authentication.\r\n550 box is not permitted to relay without it', 'temporary'],
    ['RCPT', '550 Domain acme.example has exceeded the max emails per hour (500/500 (100%)) allowed.', 'temporary'],
    ['RCPT', '550 User news@acme.example has exceeded its 24-hour sending limit. Messages to 25 of 25', 'temporary'],
    ['MAIL', '550 5.1.90 You have reached your daily limit for message recipients', 'temporary'],
    ['.', '550 5.4.5 Daily user sending quota exceeded', 'temporary'],
    ['.', '552 Message would take you over your relay quota of 500', 'temporary'],
    ['.', '552 5.2.2 The mailbox of the recipient is over its quota', 'permanent'],
    ['RCPT', '550 5.1.1 User unknown in relay recipient table', 'unknown mailbox'],
    ['RCPT', '550 5.1.1 undeliverable: mx.example said: 550 Relaying denied', 'unknown mailbox'],
    ['RCPT', '501 5.1.3 Bad recipient address syntax', 'unknown mailbox'],
    ['DATA', '451 4.3.0 try again', 'temporary'],
    ['DATA', '554 5.5.1 no valid recipients', 'permanent'],
    ['.', '451 4.7.1 greylisted', 'temporary'],
    ['.', '421 4.3.2 shutting down', 'temporary'],
    ['.', '552 5.3.4 message too big', 'permanent'],
    ['.', '550 5.1.1 <ada@example.org> unknown', 'unknown mailbox'],
  ]
  for (const [at, text, expected] of cases) {
    test(`${at}: ${text}: ${expected}`, async (t) => {
      const { port } = await openRawServer(t, (line) => (line.startsWith(at) ? text : undefined))
      const outcome = await connect(t, port).send()
      const shown = outcome.kind === 'permanent' && outcome.unknownMailbox ? 'unknown mailbox' : outcome.kind
      assert.equal(shown, expected)
      assert.match(JSON.stringify(outcome), new RegExp(text.slice(0, 3)))
      assert.doesNotMatch(JSON.stringify(outcome), /ada@/)
    })
  }

  test('a server without SMTPUTF8 that refuses the syntax of an address does not say that its mailbox is unknown', async (t) => {
    const text = '501 5.1.3 Bad recipient address syntax'
    const { port } = await openRawServer(t, (line) => (line.startsWith('RCPT') ? text : undefined))
    const outcome = await connect(t, port).send({ to: { name: null, email: 'jörg@example.org' } })
    assert.deepEqual(outcome, { kind: 'permanent', error: text, unknownMailbox: false })
  })

  test('a temporary reply to the message is returned as the server wrote it', async (t) => {
    const error = '421 4.7.0 try again later'
    for (const greeting of ['250 test', '250-test\r\n250 PIPELINING'])
      for (const at of ['MAIL', 'RCPT', 'DATA', '.']) {
        const { port } = await openRawServer(t, (line) =>
          line.startsWith(at) ? error : line.startsWith('EHLO') ? greeting : undefined,
        )
        assert.deepEqual(await connect(t, port).send(), { kind: 'temporary', error }, `${greeting} ${at}`)
      }
  })

  test('a reply of a megabyte without a space is returned in bounded time', async (t) => {
    const { port } = await openRawServer(t, (line) => (line.startsWith('RCPT') ? `550 ${'x'.repeat(1e6)}` : undefined))
    const { send } = connect(t, port)
    const startedMs = performance.now()
    const outcome = await send()
    assert.equal(outcome.kind === 'permanent' && outcome.error.length, 500)
    assert.ok(performance.now() - startedMs < 5000)
  })

  for (const [text, providerMessageId] of [
    ['250 2.0.0 Ok: queued as 4ZxABC', '4ZxABC'],
    ['250 OK id=1xXAmK-00075a-0k', '1xXAmK-00075a-0k'],
    ['250 2.0.0 d1cb62c7 Message accepted for delivery', 'd1cb62c7'],
    ['250 2.0.0 Message accepted for delivery', undefined],
  ] as const) {
    test(`the server’s id of an accepted message is returned: ${text}`, async (t) => {
      const { port } = await openRawServer(t, (line) => (line === '.' ? text : undefined))
      assert.deepEqual(await connect(t, port).send(), {
        kind: 'sent',
        ...(providerMessageId === undefined ? {} : { providerMessageId }),
      })
    })
  }
})

describe('connections that fail', () => {
  test('where no server listens it is temporary', async (t) => {
    const { port } = await openRawServer(t, () => undefined)
    const outcome = await connect(t, port === 1 ? 2 : 1).send()
    assert.deepEqual({ ...outcome, error: '' }, { kind: 'temporary', error: '', isServerDown: true })
  })

  for (const at of ['connect', 'EHLO', 'MAIL', 'RCPT', 'DATA']) {
    test(`a connection lost at ${at} is temporary`, async (t) => {
      const { port } = await openRawServer(t, (line) => (line.startsWith(at) ? 'cut' : undefined))
      assert.equal((await connect(t, port).send()).kind, 'temporary')
    })

    test(`no answer to ${at} is temporary`, async (t) => {
      const { port } = await openRawServer(t, (line) => (line.startsWith(at) ? '' : undefined))
      assert.equal((await connect(t, port, { timeoutMs: 200 }).send()).kind, 'temporary')
    })
  }

  /** Answers that offer a login, and the server's answer at one step. */
  const at =
    (step: string, answer: string): Script =>
    (line) => {
      if (line.startsWith(step)) return answer
      return line.startsWith('EHLO')
        ? '250-test\r\n250 AUTH PLAIN'
        : line.startsWith('AUTH')
          ? '235 welcome'
          : undefined
    }
  const url = (port: number) => `smtp://user:secret@127.0.0.1:${port}`

  for (const [step, answer] of [
    ['connect', '421 4.3.2 shutting down'],
    ['connect', '554 5.7.1 your address is blocked'],
    ['connect', 'cut'],
    ['connect', ''],
    ['EHLO', '421 4.3.2 shutting down'],
    ['EHLO', 'cut'],
    ['AUTH', '535 5.7.8 wrong password'],
    ['AUTH', '454 4.7.0 try again later'],
    ['AUTH', 'cut'],
  ] as const) {
    test(`the server is down for all messages: ${answer || 'no answer'} to ${step}`, async (t) => {
      const { port } = await openRawServer(t, at(step, answer))
      const outcome = await connect(t, port, { url: url(port), timeoutMs: 200 }).send()
      assert.deepEqual({ ...outcome, error: '' }, { kind: 'temporary', error: '', isServerDown: true })
    })
  }

  for (const step of ['MAIL', 'RCPT', 'DATA']) {
    for (const answer of ['cut', '', '421 4.3.2 shutting down', '450 4.7.1 slow down']) {
      test(`only this message is tried again later: ${answer || 'no answer'} to ${step}`, async (t) => {
        const { port } = await openRawServer(t, at(step, answer))
        const outcome = await connect(t, port, { url: url(port), timeoutMs: 200 }).send()
        assert.deepEqual({ ...outcome, error: '' }, { kind: 'temporary', error: '' })
      })
    }
  }

  /** Script of a server that takes the message and then behaves like this. */
  const afterMessage =
    (behaviour: string): Script =>
    (line) =>
      line === '.' ? behaviour : undefined

  test('a connection lost after the message, before its answer, is uncertain', async (t) => {
    const { port, lines } = await openRawServer(t, afterMessage('cut'))
    await assert.rejects(connect(t, port).send(), isUncertainError)
    assert.equal(lines.filter((line) => line === '.').length, 1, 'and the message is not sent again')
  })

  test('an answer to the message that neither accepts nor refuses it is uncertain', async (t) => {
    for (const answer of ['354 send it', '334 more', 'nonsense']) {
      const { port, lines } = await openRawServer(t, afterMessage(answer))
      await assert.rejects(connect(t, port).send(), isUncertainError, answer)
      assert.equal(lines.filter((line) => line === '.').length, 1)
    }
  })

  test('such an answer is uncertain also while the message is still being written', async (t) => {
    const server = new EventEmitter()
    const { port } = await openRawServer(t, (line) => {
      if (line === '.') server.emit('accepted')
      return line === 'DATA' ? '354 send it\r\n354 send it' : undefined
    })
    const accepted = once(server, 'accepted')
    await assert.rejects(connect(t, port).send(), isUncertainError)
    await accepted // the rest of the message
  })

  test('no answer to the message is uncertain', async (t) => {
    const { port, lines } = await openRawServer(t, afterMessage(''))
    await assert.rejects(connect(t, port, { timeoutMs: 300 }).send(), isUncertainError)
    assert.equal(lines.filter((line) => line === '.').length, 1)
  })

  test('an abort after the message is uncertain, and temporary before it', async (t) => {
    for (const [at, isUncertain] of [
      ['.', true],
      ['RCPT', false],
    ] as const) {
      const abort = new AbortController()
      const { port } = await openRawServer(t, (line) => {
        if (!line.startsWith(at)) return undefined
        setImmediate(() => abort.abort())
        return ''
      })
      const sending = connect(t, port).send({}, abort.signal)
      if (isUncertain) await assert.rejects(sending, isUncertainError)
      else assert.equal((await sending).kind, 'temporary')
    }
  })

  test('a connection lost in the middle of a large message is temporary', async (t) => {
    const { port } = await openRawServer(t, (line, socket) => {
      if (line === 'DATA') setTimeout(() => socket.pause(), 0)
      if (line === 'DATA') setTimeout(() => socket.destroy(), 100)
      return undefined
    })
    assert.equal((await connect(t, port).send({ text: 'x\n'.repeat(20_000_000) })).kind, 'temporary')
  })

  test('a message after the server closed an idle connection is sent once', async (t) => {
    const connection = new EventEmitter()
    const closed = once(connection, 'close')
    const { port, lines } = await openRawServer(t, (line, socket) => {
      socket.once('close', () => connection.emit('close'))
      if (line === '.') setImmediate(() => socket.end('421 4.4.2 idle for too long\r\n'))
      return undefined
    })
    const { send } = connect(t, port)
    assert.equal((await send()).kind, 'sent')
    await closed
    assert.equal((await send()).kind, 'sent')
    assert.equal(lines.filter((line) => line === '.').length, 2)
  })

  test('a greylisted message is accepted when it is sent again', async (t) => {
    let asked = 0
    const server = await openMailServer(t, {
      onRcptTo: (_address, _session, done) => done(asked++ === 0 ? reply(450, '4.2.0 greylisted') : null),
    })
    const { send } = connect(t, server.port, { connections: 1 })
    assert.equal((await send()).kind, 'temporary')
    assert.equal((await send()).kind, 'sent')
    assert.equal(server.connections, 1, 'on the same connection')
  })

  test('close ends the connections', async (t) => {
    const server = await openMailServer(t)
    const { send, transport } = connect(t, server.port)
    await send()
    await transport.close?.()
    const outcome = await send()
    assert.equal(outcome.kind, 'temporary')
  })
})
