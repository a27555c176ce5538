/** The transport of Amazon SES, with a simulated SDK. */
import assert from 'node:assert/strict'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import type { SesMailOptions } from 'mailkeep/ses'
import { isUncertainError } from '../../lib/sending/transport.ts'
import { message, parsed } from './mail-server.ts'

const root = join(import.meta.dirname, '../..')

const sdk = `
  export class SendEmailCommand { constructor(input) { this.input = input } }
  export class SESv2Client {
    constructor(settings) { made.push(settings) }
    async send() { return { MessageId: 'from the default client' } }
  }
  export const made = []`

interface Input {
  readonly FromEmailAddress: string
  readonly Destination: { readonly ToAddresses: string[] }
  readonly Content: { readonly Raw: { readonly Data: Buffer } }
  readonly ConfigurationSetName?: string
}

/** Creates a folder with the library and a simulated SDK, and opens the transport there. */
async function open(t: TestContext, options: SesMailOptions = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'mailkeep-ses-mail-'))
  t.after(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  cpSync(join(root, 'lib'), join(folder, 'lib'), { recursive: true })
  const place = join(folder, 'node_modules/@aws-sdk/client-sesv2')
  mkdirSync(place, { recursive: true })
  symlinkSync(join(root, 'node_modules/nodemailer'), join(folder, 'node_modules/nodemailer'), 'junction')
  writeFileSync(join(place, 'package.json'), '{"type":"module","exports":"./index.js"}')
  writeFileSync(join(place, 'index.js'), sdk)
  const { sesMail }: typeof import('mailkeep/ses') = await import(join(folder, 'lib/sending/transports/ses.ts'))
  const { made }: { made: object[] } = await import(join(place, 'index.js'))
  const transport = sesMail(options)
  const send = (fields = {}, signal = AbortSignal.timeout(60_000)) => transport.send({ ...message, ...fields }, signal)
  return { send, made }
}

function failing(name: string, fields: object = {}, text = 'ada@example.org is refused') {
  const client = {
    send: async () => {
      throw Object.assign(new Error(text), { name, ...fields })
    },
  }
  return { client, title: `${name} ${JSON.stringify(fields)} ${text}` }
}

const answered = (httpStatusCode: number) => ({ $metadata: { httpStatusCode } })

describe('Amazon SES', () => {
  test('gets the raw message and the envelope, and returns its id', async (t) => {
    const inputs: Input[] = []
    const client = {
      send: async ({ input }: { input: Input }) => {
        inputs.push(input)
        return { MessageId: 'ses-1' }
      },
    }
    const { send } = await open(t, { client, configurationSet: 'mail' })
    const to = { name: 'Ada', email: 'ada@bücher.example' }
    assert.deepEqual(await send({ to }), { kind: 'sent', providerMessageId: 'ses-1' })
    const [{ FromEmailAddress, Destination, Content, ConfigurationSetName }] = inputs as [Input]
    assert.deepEqual([FromEmailAddress, ConfigurationSetName], ['news@acme.example', 'mail'])
    assert.deepEqual(Destination.ToAddresses, ['ada@xn--bcher-kva.example'])
    const mail = await parsed(Content.Raw.Data)
    assert.deepEqual([mail.subject, mail.text?.trimEnd()], [message.subject, message.text])
  })

  test('the default client does not retry, since SES might send twice', async (t) => {
    const { send, made } = await open(t, { region: 'eu-central-1' })
    await send()
    assert.deepEqual(await send(), { kind: 'sent', providerMessageId: 'from the default client' })
    assert.deepEqual(made, [{ maxAttempts: 1, region: 'eu-central-1' }])
  })

  test('is not asked when the signal was aborted before', async (t) => {
    const inputs: object[] = []
    const client = { send: async (command: object) => inputs.push(command) }
    const { send } = await open(t, { client })
    await assert.rejects(send({}, AbortSignal.abort(new Error('shutting down'))), /shutting down/)
    assert.deepEqual(inputs, [])
  })

  for (const [kind, options] of [
    ['permanent', failing('MessageRejected', answered(400))],
    ['permanent', failing('BadRequestException', answered(400))],
    ['temporary', failing('MessageRejected', answered(400), 'Email address is not verified')],
    ['down', failing('TooManyRequestsException', answered(429))],
    ['down', failing('ExpiredTokenException', answered(403))],
    ['temporary', failing('AccessDeniedException', answered(403))], // may be of one sender
    ['temporary', failing('SendingPausedException', answered(400))],
    ['temporary', failing('InternalFailure', answered(500))],
    ['down', failing('Error', { code: 'ECONNREFUSED' })],
    ['down', failing('Error', { code: 'CERT_HAS_EXPIRED' })],
    ['down', failing('Error', { code: 'ERR_TLS_CERT_ALTNAME_INVALID' })],
    ['down', failing('Error', { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' })],
    ['down', failing('CredentialsProviderError')],
    ['down', failing('Error', {}, 'Region is missing')],
    ['temporary', failing('SyntaxError', answered(502), 'Unexpected token <')],
    ['uncertain', failing('SyntaxError', answered(200), 'Unexpected token <')],
    ['uncertain', failing('Error', { code: 'ECONNRESET', ...answered(200) }, 'aborted')],
    ['uncertain', failing('SyntaxError', answered(504), 'Unexpected token <')],
    ['uncertain', failing('TimeoutError', { $metadata: { attempts: 1 } })],
    ['uncertain', failing('Error', { code: 'ECONNRESET' })],
    ['uncertain', failing('AbortError')],
  ] as const) {
    test(`${options.title} is ${kind}`, async (t) => {
      const { send } = await open(t, { client: options.client })
      if (kind === 'uncertain') return await assert.rejects(send(), isUncertainError)
      const outcome = await send()
      const shown = outcome.kind === 'temporary' && outcome.isServerDown ? 'down' : outcome.kind
      assert.equal(shown, kind)
      assert.doesNotMatch(JSON.stringify(outcome), /ada@/)
    })
  }
})
