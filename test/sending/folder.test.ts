/** The folder transport, and the headers of bulk mail as they are written. */
import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { isMailkeepError } from '../../lib/index.ts'
import { mailHeaders } from '../../lib/sending/headers.ts'
import { folder } from '../../lib/sending/transports/folder.ts'
import { headerLines, message, parsed } from './mail-server.ts'

async function openFolder(t: TestContext) {
  const root = await mkdtemp(join(tmpdir(), 'mailkeep-mail-'))
  t.after(() => rm(root, { recursive: true }))
  const path = join(root, 'new', 'mail')
  const transport = folder(path)
  const send = (fields: object) => transport.send({ ...message, ...fields }, new AbortController().signal)
  return { root, path, send, read: (name: string) => readFile(join(path, name)) }
}

describe('the folder transport', () => {
  test('writes each message to a file that only its owner can read', async (t) => {
    const { path, send, read } = await openFolder(t)
    assert.deepEqual(await send({}), { kind: 'sent' })
    assert.deepEqual(await readdir(path), [`${message.id}.eml`])
    if (process.platform !== 'win32') assert.equal((await stat(join(path, `${message.id}.eml`))).mode & 0o777, 0o600)
    const mail = await parsed(await read(`${message.id}.eml`))
    assert.deepEqual(
      [mail.from?.address, mail.to?.[0]?.address, mail.subject, mail.text?.trimEnd()],
      ['news@acme.example', 'ada@example.org', message.subject, message.text],
    )
  })

  test('ends every line with CR and LF, whatever the lines of the content end with', async (t) => {
    const { send, read } = await openFolder(t)
    for (const text of ['one\ntwo', 'one\r\ntwo', 'one\n\r\ntwo\r', `${'x'.repeat(2000)}\n.\n`]) {
      await send({ text, html: `<p>${text}</p>` })
      const mail = (await read(`${message.id}.eml`)).toString('latin1')
      assert.doesNotMatch(mail, /\r(?!\n)|(?<!\r)\n/, JSON.stringify(text))
    }
  })

  test('writes nothing outside of the folder, whatever the id is', async (t) => {
    const { root, path, send } = await openFolder(t)
    for (const id of ['../../evil', '/etc/passwd', '..', 'a\0b', 'C:\\evil']) await send({ id })
    assert.deepEqual(await readdir(root), ['new'])
    assert.deepEqual(await readdir(join(root, 'new')), ['mail'])
    for (const name of await readdir(path)) assert.match(name, /^[\w-]+\.eml$/)
  })

  test('needs a path', () => {
    for (const path of ['', undefined, 7]) {
      assert.throws(
        () => folder(path as never),
        (error) => isMailkeepError(error, 'validation_failed') && 'path' in error.errors!,
      )
    }
  })
})

describe('the headers of bulk mail', () => {
  const input = {
    messageId: message.id,
    from: 'news@acme.example',
    clientId: 3,
    campaign: 'newsletter-7',
    unsubscribeUrl: `https://mail.acme.example/c/${'T'.repeat(99)}/unsubscribe`,
  }

  test('are each written on one line, and once', async (t) => {
    const { send, read } = await openFolder(t)
    await send({ headers: mailHeaders(input) })
    const lines = headerLines(await read(`${message.id}.eml`))
    const expected = [
      `Message-ID: <${message.id}@acme.example>`,
      `List-Unsubscribe: <${input.unsubscribeUrl}>`,
      'List-Unsubscribe-Post: List-Unsubscribe=One-Click',
      'List-ID: <client-3.acme.example>',
      'Precedence: bulk',
      'Feedback-ID: newsletter-7:client-3:newsletter:mailkeep',
    ]
    for (const line of expected) {
      const [name] = line.split(':')
      const found = lines.filter((each) => each.toLowerCase().startsWith(`${name!.toLowerCase()}:`))
      assert.deepEqual(
        found.map((each) => each.slice(name!.length)),
        [line.slice(name!.length)],
      )
    }
  })

  test('one click is only offered over https, and the domain is in its ASCII form', () => {
    const headers = mailHeaders({ ...input, from: 'a@bücher.example', unsubscribeUrl: 'http://127.0.0.1:6245/c/T' })
    assert.equal(headers['List-Unsubscribe'], '<http://127.0.0.1:6245/c/T>')
    assert.equal(headers['List-Unsubscribe-Post'], undefined)
    assert.equal(headers['Message-ID'], `<${message.id}@xn--bcher-kva.example>`)
    assert.equal(headers['List-ID'], '<client-3.xn--bcher-kva.example>')
  })
})
