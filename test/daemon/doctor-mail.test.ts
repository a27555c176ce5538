/** What the doctor says about mail. The program under test is the bundle, so it also shows that nodemailer is in it. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openMailServer, reply } from '../sending/mail-server.ts'
import { authority, certificate } from '../support/certificates.ts'
import { directory, run } from '../support/program.ts'

interface Finding {
  readonly check: string
  readonly state: string
  readonly message: string
  readonly remedy?: string
}

async function findingsAbout(check: string, cwd: string, env: Record<string, string>): Promise<Finding[]> {
  const { out, err } = await run(['doctor', '--port', '0', '--json'], { cwd, env })
  assert.doesNotMatch(out + err, /secret/, 'a password is never shown')
  const { findings } = JSON.parse(out) as { findings: Finding[] }
  return findings.filter((finding) => finding.check === check)
}

async function findingAbout(cwd: string, env: Record<string, string>): Promise<Finding> {
  const [finding] = await findingsAbout('mail', cwd, env)
  return finding!
}

describe('the doctor, about mail,', { concurrency: 2 }, () => {
  test('names the folder, or that nothing is sent', async (t) => {
    const cwd = await directory(t)
    const folder = await findingAbout(cwd, {})
    assert.deepEqual([folder.state, folder.message], ['ok', 'is written to the folder mail, not sent'])
    const deeper = await findingAbout(cwd, { MAILKEEP_MAIL_TRANSPORT: 'folder:not/there/yet' })
    assert.equal(deeper.state, 'ok')
    const none = await findingAbout(cwd, { MAILKEEP_MAIL_TRANSPORT: 'none' })
    assert.deepEqual([none.state, none.message], ['ok', 'is not sent: no transport is set'])
  })

  test('finds a folder that cannot be written, and says what to set', async (t) => {
    const cwd = await directory(t)
    await writeFile(join(cwd, 'file'), '')
    for (const path of ['file', 'file/mail']) {
      const { state, message, remedy } = await findingAbout(cwd, { MAILKEEP_MAIL_TRANSPORT: `folder:${path}` })
      assert.deepEqual([state, message], ['fault', `cannot be written to the folder ${path}: ENOTDIR: not a directory`])
      assert.match(remedy!, /set MAILKEEP_MAIL_TRANSPORT to folder:PATH/)
    }
  })

  test('finds a server that can be reached and takes the login well, a wrong password not', async (t) => {
    const { port } = await openMailServer(t, {
      authOptional: false,
      onAuth: ({ password }, _session, done) =>
        password === 'secret' ? done(null, { user: 'ada' }) : done(reply(535, 'wrong')),
    })
    const cwd = await directory(t)
    const url = (password: string) => ({ MAILKEEP_SMTP_URL: `smtp://ada:${password}@127.0.0.1:${port}` })
    const good = await findingAbout(cwd, url('secret'))
    assert.equal(good.state, 'ok', good.message)
    assert.match(good.message, new RegExp(`127\\.0\\.0\\.1:${port} can be reached, and takes the login`))
    const wrong = await findingAbout(cwd, url('secret2'))
    assert.equal(wrong.state, 'fault')
    assert.match(wrong.remedy!, /password in MAILKEEP_SMTP_URL/)
  })

  test('finds a login that the server does not offer, and says if there is none in the setting', async (t) => {
    const { port } = await openMailServer(t, { disabledCommands: ['AUTH'] })
    const cwd = await directory(t)
    const unused = await findingAbout(cwd, { MAILKEEP_SMTP_URL: `smtp://ada:secret@127.0.0.1:${port}` })
    assert.equal(unused.state, 'fault')
    assert.match(unused.remedy!, /MAILKEEP_SMTP_URL, or leave them out/)
    const none = await findingAbout(cwd, { MAILKEEP_SMTP_URL: `smtp://127.0.0.1:${port}` })
    assert.deepEqual(
      [none.state, none.message],
      ['ok', `the SMTP server 127.0.0.1:${port} can be reached; MAILKEEP_SMTP_URL has no login`],
    )
  })

  test('says which of smtp:// and smtps:// fits', async (t) => {
    const cwd = await directory(t)
    const { port } = await openMailServer(t)
    const found = await findingAbout(cwd, { MAILKEEP_SMTP_URL: `smtps://127.0.0.1:${port}` })
    assert.equal(found.state, 'fault')
    assert.match(found.remedy!, /smtps:\/\/ is for .* 465, and smtp:\/\/ for/)
  })

  test('says how to trust an authority of your own', { skip: !authority && 'OPENSSL IS MISSING' }, async (t) => {
    const server = await openMailServer(t, certificate('selfsigned', { address: '0.0.0.0', selfSigned: true }))
    const found = await findingAbout(await directory(t), { MAILKEEP_SMTP_URL: `smtp://0.0.0.0:${server.port}` })
    assert.equal(found.state, 'fault')
    assert.match(found.remedy!, /set NODE_EXTRA_CA_CERTS/)
  })

  test('warns where people cannot follow the links in mails', async (t) => {
    const cwd = await directory(t)
    const server = { MAILKEEP_SMTP_URL: 'smtp://127.0.0.1:1' }
    const [missing] = await findingsAbout('links', cwd, server)
    assert.equal(missing!.state, 'warning')
    assert.match(missing!.remedy!, /MAILKEEP_PUBLIC_URL/)
    const [found] = await findingsAbout('links', cwd, { ...server, MAILKEEP_PUBLIC_URL: 'https://mail.example.com' })
    assert.deepEqual([found!.state, found!.message], ['ok', 'in mails lead to https://mail.example.com'])
    assert.deepEqual(await findingsAbout('links', cwd, {}), [])
  })

  test('finds a fault where the SDK of Amazon SES is missing', async (t) => {
    const found = await findingAbout(await directory(t), { MAILKEEP_MAIL_TRANSPORT: 'ses' })
    assert.equal(found.state, 'fault')
    assert.match(found.message, /npm install @aws-sdk\/client-sesv2/)
  })

  test('does not wait long for a server that is mute', { timeout: 40_000 }, async (t) => {
    const mute = createServer(() => {})
    t.after(() => mute.close())
    mute.listen(0, '127.0.0.1')
    await once(mute, 'listening')
    const { port } = mute.address() as AddressInfo
    const found = await findingAbout(await directory(t), { MAILKEEP_SMTP_URL: `smtp://127.0.0.1:${port}` })
    assert.equal(found.state, 'fault')
    assert.match(found.message, /Greeting never received$/)
    assert.match(found.remedy!, /smtps:\/\/ is for/)
  })

  test('finds a fault where no server listens, and where TLS is missing', async (t) => {
    const cwd = await directory(t)
    const missing = await findingAbout(cwd, { MAILKEEP_SMTP_URL: 'smtp://127.0.0.1:1' })
    assert.equal(missing.state, 'fault')
    assert.match(missing.message, /127\.0\.0\.1:1: .*ECONNREFUSED/)
    const { port } = await openMailServer(t, { hideSTARTTLS: true, disabledCommands: ['STARTTLS'] })
    const plain = await findingAbout(cwd, { MAILKEEP_SMTP_URL: `smtp://0.0.0.0:${port}` })
    assert.equal(plain.state, 'fault')
    assert.match(plain.remedy!, /STARTTLS|certificate/)
  })
})
