import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { build } from 'esbuild'
import { scenes } from './example-scenes.ts'
import { manifest, type Packed, type Project, pack, root, tool } from './packed.ts'

let packed: Packed
before(async () => {
  packed = await pack()
})
after(() => packed?.remove())

const entries = Object.keys(manifest.exports).map((path) => path.replace(/^\./, 'mailkeep'))
const drivers = ['kysely', 'better-sqlite3', 'pg']

/** The first page of the README, and a look at every entry. */
const session = `
  const acme = mailkeep.forClient((await mailkeep.clients.create({ name: 'Acme' })).id)
  const list = await acme.lists.create({ name: 'News' })
  const { contact } = await acme.contacts.addToList(list.id, { email: 'ada@example.org', tags: ['vip'], company: 'Engines' })
  await acme.webhooks.createEndpoint({ url: 'https://example.org/hook', events: ['contact.subscribed'] })
  mailkeep.start()
  await mailkeep.close()
  const kit = await testMailkeep()
  await kit.contact()
  const events: number = kit.events().length
  await kit.close()
  const provider = ses({ region: 'eu-central-1' })
  console.log(contact.email, events, typeof createHandler, typeof verifyDelivery, typeof postgres, typeof provider)`
const names = {
  mailkeep: 'createMailkeep',
  'mailkeep/sqlite': 'sqlite',
  'mailkeep/postgres': 'postgres',
  'mailkeep/http': 'createHandler',
  'mailkeep/receiver': 'verifyDelivery',
  'mailkeep/ses': 'ses',
  'mailkeep/testing': 'testMailkeep',
}
const imports = Object.entries(names)
  .map(([path, name]) => `import { ${name} } from '${path}'`)
  .join('\n')
const requires = Object.entries(names)
  .map(([path, name]) => `const { ${name} } = require('${path}')`)
  .join('\n')
const open =
  "await createMailkeep({ database: sqlite(':memory:'), encryptionKey: Buffer.alloc(32, 1).toString('base64') })"
const typed = `${imports}\nasync function main() {\n  const mailkeep = ${open}${session}\n}\nvoid main()\n`
const untyped = `async function main() {\n  const mailkeep = ${open}${session.replace('events: number', 'events')}\n}\nvoid main()\n`
const printed = 'ada@example.org 1 function function function object\n'

describe('the packed package', { concurrency: 2 }, () => {
  test('has what its entries name, and nothing of the workshop', () => {
    for (const target of Object.values<string | Record<string, string>>(manifest.exports)) {
      for (const file of typeof target === 'string' ? [target] : Object.values(target)) {
        assert.ok(packed.files.includes(file.slice(2)), file)
      }
    }
    const allowed = /^(package\.json|README\.md|LICENSE|dist\/(lib|daemon)\/.+\.(js|d\.ts))$/
    assert.deepEqual(
      packed.files.filter((file) => !allowed.test(file)),
      [],
    )
    for (const name of [
      '.',
      './sqlite',
      './postgres',
      './http',
      './testing',
      './receiver',
      './ses',
      './package.json',
    ]) {
      assert.ok(name in manifest.exports, name)
    }
  })

  test('is well-formed: publint', async () => {
    await tool('publint', ['run', '--strict', packed.tarball])
  })

  test('is typed for every way of importing it: attw', async () => {
    // CommonJS loads ES modules by require() from Node 20.19 on, which `engines` asks for; attw knows older ones, too.
    await tool('attw', [packed.tarball, '--profile', 'node16', '--ignore-rules', 'cjs-resolves-to-esm'])
  })

  test('runs in a project of ES modules', async () => {
    const project = packed.project('esm', drivers, { 'main.mjs': `${imports}\n${untyped}` })
    assert.equal(await project.node('main.mjs'), printed)
  })

  test('runs in a CommonJS project, by require()', async () => {
    const project = packed.project('cjs', drivers, {
      'package.json': '{"type":"commonjs"}',
      'main.js': `${requires}\n${untyped}`,
    })
    assert.equal(await project.node('main.js'), printed)
  })

  test('is one module to both: require() and import give the same class', async () => {
    const project = packed.project('both', drivers, {
      'main.cjs': `const { MailkeepError } = require('mailkeep')
        import('mailkeep').then((module) => console.log(module.MailkeepError === MailkeepError))`,
    })
    assert.equal(await project.node('main.cjs'), 'true\n')
  })

  test('loads no driver that is not used', async () => {
    const free = ['mailkeep', 'mailkeep/http', 'mailkeep/receiver', 'mailkeep/ses']
      .map((name) => `await import('${name}')`)
      .join('\n')
    const project = packed.project('bare', ['kysely'], {
      'main.mjs': `${free}\nconst codes = []
        for (const name of ['mailkeep/sqlite', 'mailkeep/postgres']) await import(name).catch((e) => codes.push(e.code))
        console.log(codes.join())`,
      'receiver.mjs':
        "const { verifyDelivery } = await import('mailkeep/receiver'); console.log(typeof verifyDelivery)",
    })
    assert.equal(await project.node('main.mjs'), 'ERR_MODULE_NOT_FOUND,ERR_MODULE_NOT_FOUND\n')
    assert.equal(await project.node('receiver.mjs'), 'function\n')
  })

  test('runs as a program with one driver alone, and names the one that is missing', async () => {
    const program = 'node_modules/mailkeep/dist/daemon/main.js'
    const asked = (project: Project, database: string) => {
      const env = { PATH: process.env.PATH, MAILKEEP_DATABASE: database, MAILKEEP_ENCRYPTION_KEY: 'A'.repeat(43) }
      const { stdout, stderr } = spawnSync(process.execPath, [program, 'migrate'], { cwd: project.folder, env })
      return `${stdout}${stderr}`
    }
    const nobody = 'postgres://postgres@127.0.0.1:1/nothing'
    const withSqlite = packed.project('sqlite-only', ['kysely', 'better-sqlite3'])
    assert.equal(asked(withSqlite, 'mail.db'), 'mail.db is up to date\n')
    const needsPg = 'mailkeep: pg is missing, which PostgreSQL needs: npm install pg\n'
    assert.equal(asked(withSqlite, nobody), needsPg)
    const withPg = packed.project('pg-only', ['kysely', 'pg'])
    assert.match(asked(withPg, nobody), /^mailkeep: The database cannot be opened: .*ECONNREFUSED/)
    assert.match(asked(withPg, 'mail.db'), /^mailkeep: better-sqlite3 is missing, which a SQLite database needs/)
  })

  const asksAmazon = `import { createMailkeep } from 'mailkeep'
    import { ses } from 'mailkeep/ses'
    import { sqlite } from 'mailkeep/sqlite'
    const encryptionKey = Buffer.alloc(32, 1)
    const mailkeep = await createMailkeep({ database: sqlite(':memory:'), encryptionKey, identityProvider: ses() })
    const { id } = await mailkeep.clients.create({ name: 'Acme' })
    await mailkeep.forClient(id).identities.add({ email: 'ada@example.org' })
    console.log('added')
    for (let i = 0; i < 2; i++) await mailkeep.refreshIdentities().then(([one]) => console.log(one?.identity_status),
      (error) => console.log(String(error)))
    await mailkeep.close()`

  test('loads Amazon’s SDK once, when the first identity is asked about', async () => {
    const project = packed.project('ses', drivers, {
      'main.mjs': asksAmazon,
      'node_modules/@aws-sdk/client-sesv2/package.json': '{"type":"module","exports":"./index.js"}',
      'node_modules/@aws-sdk/client-sesv2/index.js': `console.log('loaded')
        export class CreateEmailIdentityCommand {}
        export class GetEmailIdentityCommand {}
        export class SESv2Client { send = async () => ({ VerificationStatus: 'PENDING' }) }`,
    })
    assert.equal(await project.node('main.mjs'), 'added\nloaded\nverifying\nundefined\n')
  })

  test('says in one line that Amazon’s SDK is missing', async () => {
    const project = packed.project('ses without its SDK', drivers, { 'main.mjs': asksAmazon })
    const said = 'MailkeepError: Amazon SES needs its SDK beside mailkeep: npm install @aws-sdk/client-sesv2\n'
    assert.equal(await project.node('main.mjs'), `added\n${said}${said}`)
  })

  test('leaves out of a bundle what is not used', async () => {
    const project = packed.project('bundle', drivers)
    const { outputFiles } = await build({
      stdin: { contents: "export { isMailkeepError } from 'mailkeep'", resolveDir: project.folder },
      bundle: true,
      write: false,
      format: 'esm',
      platform: 'node',
    })
    assert.ok(outputFiles[0]!.text.length < 2000, `${outputFiles[0]!.text.length} characters for one function`)
  })

  const types = ['@types/node', '@types/better-sqlite3', '@types/pg']
  for (const [name, type, options] of [
    ['NodeNext', 'module', { module: 'NodeNext' }],
    ['NodeNext in CommonJS', 'commonjs', { module: 'NodeNext' }],
    ['Bundler', 'module', { module: 'ESNext', moduleResolution: 'Bundler' }],
  ] as const) {
    test(`compiles strictly, its own types included, with ${name}`, async () => {
      const strict = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true }
      const common = { ...strict, skipLibCheck: false, target: 'ES2022', noEmit: true, types: ['node'] }
      const project = packed.project(`types ${name}`, [...drivers, ...types], {
        'package.json': JSON.stringify({ type }),
        'main.ts': typed,
        'tsconfig.json': JSON.stringify({ compilerOptions: { ...common, ...options }, files: ['main.ts'] }),
      })
      await tool('tsc', ['-p', project.folder], project.folder)
    })
  }

  test('compiles without the drivers’ types where the drivers are not used', async () => {
    const project = packed.project('types without drivers', ['kysely', '@types/node'], {
      'package.json': '{"type":"module"}',
      'main.ts':
        "export * from 'mailkeep'\nexport * from 'mailkeep/http'\nexport { verifyDelivery } from 'mailkeep/receiver'\nexport * from 'mailkeep/ses'\n",
      'tsconfig.json':
        '{"compilerOptions":{"strict":true,"module":"NodeNext","noEmit":true,"types":["node"]},"files":["main.ts"]}',
    })
    await tool('tsc', ['-p', project.folder], project.folder)
  })

  const frameworks = ['express', 'fastify', 'hono', '@hono/node-server', 'tsx']
  for (const [name, play] of Object.entries(scenes)) {
    test(`runs the example ${name}`, async (t) => {
      const project = packed.project(`example ${name}`, [...drivers, ...frameworks], {
        'package.json': '{"type":"module"}',
      })
      cpSync(join(root, 'examples'), join(project.folder, 'examples'), { recursive: true })
      await play(t, project)
    })
  }

  test('is imported by nothing but its entries', () => {
    assert.deepEqual([...Object.keys(names), 'mailkeep/package.json'].sort(), entries.sort())
  })
})
