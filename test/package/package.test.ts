import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  cpSync,
  existsSync,
  fstatSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, delimiter, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, describe, test } from 'node:test'
import { build } from 'esbuild'
import { buildBundle } from '../../.ci/build-binary.ts'
import { deadLinks } from '../support/markdown.ts'
import { readDeclarations } from './declarations.ts'
import { scenes } from './example-scenes.ts'
import { fieldsThatRefuseUndefined } from './optional-inputs.ts'
import { manifest, type Packed, type Project, pack, root, tool } from './packed.ts'
import { publicNames } from './public-names.ts'

let packed: Packed
before(async () => {
  packed = await pack()
})
after(() => packed?.remove())

const entries = Object.keys(manifest.exports).map((path) => path.replace(/^\./, 'mailkeep'))
const drivers = ['kysely', 'better-sqlite3', 'pg']

const declarationFiles = Object.fromEntries(
  Object.entries<{ types?: string }>(manifest.exports)
    .filter(([, { types }]) => types !== undefined)
    .map(([path, { types }]) => [path.replace(/^\./, 'mailkeep'), types!]),
)

/** Finds a Node program of this major version on the machine. */
function findNode(major: number): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/bin', '/usr/local/bin']
  return folders
    .map((folder) => join(folder, 'node'))
    .find((file) => existsSync(file) && spawnSync(file, ['-v'], { encoding: 'utf8' }).stdout.startsWith(`v${major}.`))
}

/** The README's first page, and one use of every entry. */
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
  'mailkeep/client': 'createClient',
  'mailkeep/receiver': 'verifyDelivery',
  'mailkeep/ses': 'ses',
  'mailkeep/smtp': 'smtp',
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
  test('has the files that its entries name, and no development files', () => {
    for (const target of Object.values<string | Record<string, string>>(manifest.exports)) {
      for (const file of typeof target === 'string' ? [target] : Object.values(target)) {
        assert.ok(packed.files.includes(file.slice(2)), file)
      }
    }
    const allowed = [
      /^(package\.json|README\.md|LICENSE|dist\/daemon\/THIRD-PARTY-LICENSES\.txt)$/,
      /^dist\/(lib|daemon)\/.+\.(js|d\.ts)(\.map)?$/,
      /^(lib|daemon)\/.+\.(ts|md)$/,
      /^daemon\/console\/\w+\.png$/,
      /^examples\/([\w-]+\.(ts|md)|deploy\/[\w.-]+)$/,
    ]
    assert.deepEqual(
      packed.files.filter((file) => !allowed.some((pattern) => pattern.test(file))),
      [],
    )
    for (const name of [
      '.',
      './sqlite',
      './postgres',
      './http',
      './testing',
      './receiver',
      './client',
      './ses',
      './package.json',
    ]) {
      assert.ok(name in manifest.exports, name)
    }
  })

  test('is valid for publint', async () => {
    await tool('publint', ['run', '--strict', packed.tarball])
  })

  test('has types for every way of importing it, by attw', async () => {
    // CommonJS loads ES modules by require() from Node 20.19 on, which `engines` requires; attw also checks older
    // versions.
    await tool('attw', [packed.tarball, '--profile', 'node16', '--ignore-rules', 'cjs-resolves-to-esm'])
  })

  test('works in a project of ES modules', async () => {
    const project = packed.project('esm', drivers, { 'main.mjs': `${imports}\n${untyped}` })
    assert.equal(await project.node('main.mjs'), printed)
  })

  test('works in a CommonJS project, by require()', async () => {
    const project = packed.project('cjs', drivers, {
      'package.json': '{"type":"commonjs"}',
      'main.js': `${requires}\n${untyped}`,
    })
    assert.equal(await project.node('main.js'), printed)
  })

  test('is the same module for both: require() and import return the same class', async () => {
    const project = packed.project('both', drivers, {
      'main.cjs': `const { MailkeepError } = require('mailkeep')
        import('mailkeep').then((module) => console.log(module.MailkeepError === MailkeepError))`,
    })
    assert.equal(await project.node('main.cjs'), 'true\n')
  })

  test('loads only the drivers that are used', async () => {
    const free = ['mailkeep', 'mailkeep/http', 'mailkeep/receiver', 'mailkeep/ses', 'mailkeep/smtp']
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

  test('runs as a program with one driver only, and names a driver that is missing', async () => {
    const program = 'node_modules/mailkeep/dist/daemon/main.js'
    const asked = (project: Project, database: string, command = 'migrate') => {
      const env = { PATH: process.env.PATH, MAILKEEP_DATABASE: database, MAILKEEP_ENCRYPTION_KEY: 'A'.repeat(43) }
      const { stdout, stderr } = spawnSync(process.execPath, [program, command], { cwd: project.folder, env })
      return `${stdout}${stderr}`
    }
    const closedPort = 'postgres://postgres@127.0.0.1:1/nothing'
    const withSqlite = packed.project('sqlite-only', ['kysely', 'better-sqlite3'])
    assert.equal(asked(withSqlite, 'mail.db'), 'mail.db is up to date\n')
    const needsPg = 'mailkeep: pg is missing, which PostgreSQL needs: npm install pg\n'
    assert.equal(asked(withSqlite, closedPort), needsPg)
    assert.doesNotMatch(asked(withSqlite, closedPort, 'doctor'), /check that the server runs/)
    const withPg = packed.project('pg-only', ['kysely', 'pg'])
    assert.match(asked(withPg, closedPort), /^mailkeep: The database cannot be opened: .*ECONNREFUSED/)
    const needsSqlite = 'better-sqlite3 is missing, which a SQLite database needs: npm install better-sqlite3'
    assert.equal(asked(withPg, 'mail.db'), `mailkeep: ${needsSqlite}\n`)
    assert.match(asked(withPg, 'mail.db', 'doctor'), new RegExp(`^FAULT +database +${needsSqlite}$`, 'm'))
  })

  test('serves as a program, with its log and its metrics, with Kysely and one driver only', async (t) => {
    const project = packed.project('daemon', ['kysely', 'better-sqlite3'])
    const env = { PATH: process.env.PATH, MAILKEEP_PORT: '0', MAILKEEP_DATABASE: 'mail.db' }
    const program = spawn(process.execPath, ['node_modules/mailkeep/dist/daemon/main.js', 'serve', '--json'], {
      cwd: project.folder,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    t.after(() => program.kill('SIGKILL'))
    let log = ''
    program.stderr.setEncoding('utf8').on('data', (text) => (log += text))
    const [line] = await once(createInterface(program.stdout), 'line')
    const url = `http://127.0.0.1:${JSON.parse(line).port}`
    const token = readFileSync(join(project.folder, 'mail.db.admin-token'), 'utf8').trim()
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const made = await fetch(`${url}/api/v1/tags`, { method: 'POST', headers, body: '{"name":"vip"}' })
    assert.equal(made.status, 201)
    assert.equal((await fetch(`${url}/healthz`)).status, 200)
    assert.equal((await fetch(`${url}/api/v1/openapi.json`)).status, 200)
    assert.match(await (await fetch(`${url}/metrics`)).text(), /^mailkeep_/m)
    program.kill('SIGTERM')
    const [code] = await once(program, 'exit')
    assert.equal(code, 0, log)
    assert.match(log, /"path":"\/api\/v1\/tags","status":201/)
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

  test('loads Amazon’s SDK once, for the first identity', async () => {
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

  test('reports in one line that Amazon’s SDK is missing', async () => {
    const project = packed.project('ses without its SDK', drivers, { 'main.mjs': asksAmazon })
    const said = 'MailkeepError: Amazon SES needs its SDK beside mailkeep: npm install @aws-sdk/client-sesv2\n'
    assert.equal(await project.node('main.mjs'), `added\n${said}${said}`)
  })

  test('is tree-shakable: a bundle contains only what is used', async () => {
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

  test('contains the sources that its maps name, so that editors go from a name to its definition', () => {
    const maps = packed.files.filter((file) => file.endsWith('.map'))
    for (const file of maps) {
      const { sources } = JSON.parse(readFileSync(join(packed.folder, file), 'utf8')) as { sources: string[] }
      for (const source of sources) assert.ok(packed.files.includes(join(dirname(file), source)), `${file}: ${source}`)
    }
    for (const { types } of Object.values<{ types?: string }>(manifest.exports)) {
      if (types) assert.ok(maps.includes(`${types.slice(2)}.map`), types)
    }
  })

  test('has no dead links in its documents', () => {
    const documents = packed.files.filter((file) => file.endsWith('.md'))
    for (const name of ['README.md', 'lib/REFERENCE.md', 'lib/CHANGELOG.md']) assert.ok(documents.includes(name), name)
    assert.deepEqual(deadLinks(packed.folder, documents), [])
  })

  test('names its repository and homepage', () => {
    const home = 'https://github.com/mailkeep/mailkeep'
    assert.equal(manifest.repository.url, `git+${home}.git`)
    assert.equal(manifest.bugs.url, `${home}/issues`)
    assert.equal(manifest.homepage, `${home}#readme`)
  })

  test('does not install packages that only the daemon needs', () => {
    const own = ['csv-parse', 'html-to-text', 'ipaddr.js', 'liquidjs', 'p-queue', 'valibot']
    assert.deepEqual(Object.keys(manifest.dependencies).sort(), own)
    const licences = readFileSync(join(packed.folder, 'dist/daemon/THIRD-PARTY-LICENSES.txt'), 'utf8')
    for (const [, licence] of licences.matchAll(/^\S+ \d+\.\d+\.\d+ \((.+)\)$/gm)) {
      assert.match(licence!, /^(MIT|MIT-0|ISC|BSD-\d-Clause|Apache-2\.0)$/)
    }
    for (const name of ['pino', 'polka', 'prom-client', 'trouter', 'undici']) {
      assert.match(licences, new RegExp(`^${name} \\d`, 'm'))
    }
  })

  test('exports exactly what is documented, and every type that a public declaration mentions', () => {
    const { exported, unnameable } = readDeclarations(packed.folder, declarationFiles)
    assert.deepEqual(exported, publicNames)
    // The client's methods are computed from the description, by types that are of no use alone.
    const computed = /^Resources in dist\/daemon\/client\/api\.d\.ts$| in dist\/daemon\/client\/methods\.d\.ts$/
    assert.deepEqual(
      unnameable.filter((name) => !computed.test(name)),
      [],
    )
  })

  test('accepts undefined for every optional field of its inputs, as exactOptionalPropertyTypes distinguishes', () => {
    assert.deepEqual(fieldsThatRefuseUndefined(packed.folder, Object.values(declarationFiles)), [])
  })

  test('declares the operations with their documentation', () => {
    const declared = readFileSync(join(packed.folder, 'dist/lib/contacts/api-types.d.ts'), 'utf8')
    assert.match(declared, /Adds a contact to a list\.[^/]*@param input Fields besides[^/]*\*\/\s*addToList\(/)
  })

  test('declares no internal members', () => {
    for (const file of packed.files.filter((name) => /^dist\/.*\.d\.ts$/.test(name))) {
      assert.doesNotMatch(readFileSync(join(packed.folder, file), 'utf8'), /@internal/, file)
    }
  })

  const host = `import { createServer } from 'node:http'
    import { once } from 'node:events'
    import { createMailkeep } from 'mailkeep'
    import { createHandler } from 'mailkeep/http'
    import { verifyDelivery } from 'mailkeep/receiver'
    import { sqlite } from 'mailkeep/sqlite'
    const encryptionKey = new Uint8Array(32)
    const webhooks = { allowPrivate: true }
    const mailkeep = await createMailkeep({ database: sqlite(':memory:'), encryptionKey, webhooks })
    const client = mailkeep.forClient((await mailkeep.clients.create({ name: 'Acme' })).id)
    const { token } = await mailkeep.tokens.create({ clientId: 1, role: 'admin' })
    const handle = createHandler({ mailkeep })
    let delivered
    const delivery = new Promise((resolve) => (delivered = resolve))
    const server = createServer(async (req, res) => {
      if (req.url !== '/hook') return handle(req, res)
      let body = ''
      for await (const chunk of req) body += chunk
      res.end()
      delivered(verifyDelivery(req.headers, body, secret))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = 'http://127.0.0.1:' + server.address().port
    const { secret } = await client.webhooks.createEndpoint({ url: url + '/hook', events: ['contact.subscribed'] })
    const list = await client.lists.create({ name: 'News' })
    mailkeep.start()
    const saved = await fetch(url + '/api/v1/lists/' + list.id + '/contacts', {
      method: 'POST',
      headers: { authorization: 'Bearer ' + token, 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'ada@example.org' }),
    })
    const report = await client.contacts.import(list.id, ['email\\nbob@example.org\\n'], { format: 'csv' })
    console.log(saved.status, report.created, (await delivery).data.contact.email)
    server.close()
    server.closeAllConnections()
    await mailkeep.close()`

  for (const [format, file] of [
    ['esm', 'bundle.mjs'],
    ['cjs', 'bundle.cjs'],
  ] as const) {
    test(`works inside a host that esbuild bundles as ${format}: a save and its delivery arrive`, async () => {
      const project = packed.project(`host ${format}`, ['kysely', 'better-sqlite3'])
      await build({
        stdin: {
          contents:
            format === 'esm' ? host : `${host.replace('const encr', 'async function main() {\n const encr')}}\nmain()`,
          resolveDir: project.folder,
        },
        outfile: join(project.folder, file),
        bundle: true,
        platform: 'node',
        format,
        external: ['better-sqlite3'],
        logLevel: 'silent',
      })
      // Only better-sqlite3 stays outside the bundle.
      for (const name of ['mailkeep', 'kysely', ...Object.keys(manifest.dependencies)]) {
        rmSync(join(project.folder, 'node_modules', name), { recursive: true, force: true })
      }
      assert.equal(await project.node(file), '201 1 ada@example.org\n')
    })
  }

  test('reports in one line that better-sqlite3 13 does not run on a Node with an older Node-API', async () => {
    const older = { ...process.versions, node: '22.12.0', napi: '9' }
    const project = packed.project('node 22.12', ['kysely', 'better-sqlite3'], {
      'main.mjs': `Object.defineProperty(process, 'versions', { value: ${JSON.stringify(older)} })
        const { createMailkeep } = await import('mailkeep')
        const { sqlite } = await import('mailkeep/sqlite')
        await createMailkeep({ database: sqlite('mail.db'), encryptionKey: new Uint8Array(32) })
          .catch(({ code, message }) => console.log(code, message))`,
    })
    assert.equal(
      await project.node('main.mjs'),
      'unavailable better-sqlite3 13 needs Node 22.14 or later; this is Node 22.12.0. Update Node or install better-sqlite3@12.\n',
    )
  })

  test('reports in one line that better-sqlite3 12 was installed without its addon', async () => {
    const project = packed.project('no addon', ['kysely'], {
      'node_modules/better-sqlite3/package.json': '{"name":"better-sqlite3","version":"12.11.1"}',
      'node_modules/better-sqlite3/index.js': `module.exports = class {
        constructor() { throw new Error('Could not locate the bindings file. Tried:\\n → better_sqlite3.node') } }`,
      'main.mjs': `import { createMailkeep } from 'mailkeep'
        import { sqlite } from 'mailkeep/sqlite'
        await createMailkeep({ database: sqlite(':memory:'), encryptionKey: new Uint8Array(32) })
          .catch(({ code, message }) => console.log(code, message))`,
    })
    assert.equal(
      await project.node('main.mjs'),
      'unavailable The database :memory: cannot be opened: better-sqlite3 was installed without its native addon. ' +
        'Allow its install script, then run: npm rebuild better-sqlite3\n',
    )
  })

  for (const [version, runs] of [
    ['20.18.3', false],
    ['20.19.0', true],
    ['21.7.3', false],
    ['22.2.0', false],
    ['22.3.0', true],
  ] as const) {
    test(`${runs ? 'starts its daemon' : 'reports in one line that its daemon does not run'} on Node ${version}`, () => {
      const older = JSON.stringify({ ...process.versions, node: version })
      const setVersion = `Object.defineProperty(process, 'versions', { value: ${older} })`
      const { folder } = packed.project(`daemon ${version}`, ['kysely'])
      const program = join(folder, 'node_modules/mailkeep', manifest.bin.mailkeep)
      const words = ['--import', `data:text/javascript,${encodeURIComponent(setVersion)}`, program, '--version']
      const { status, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' })
      const refusal =
        `mailkeep: Node 20.19 or later 20.x, or 22.3 or later, is needed; this is ${version}. ` +
        'In a checkout, `npm start` and `npx` use the Node that `npm ci` installed.\n'
      assert.deepEqual([status, stderr], runs ? [0, ''] : [1, refusal])
    })
  }

  test('reports in one line that better-sqlite3 13 does not run on Node 20', async (t) => {
    const node20 = findNode(20)
    if (!node20) return t.skip('there is no Node 20 on this machine')
    const project = packed.project('node 20', ['kysely', 'better-sqlite3'], {
      'main.mjs': `import { createMailkeep } from 'mailkeep'
        import { sqlite } from 'mailkeep/sqlite'
        await createMailkeep({ database: sqlite('mail.db'), encryptionKey: new Uint8Array(32) })
          .catch(({ code, message }) => console.log(code, message))`,
    })
    const said =
      /^unavailable better-sqlite3 13 needs Node 22\.14 or later; this is Node 20\.[\d.]+\. Update Node or install better-sqlite3@12\.\n$/
    assert.match(await project.node('main.mjs', node20), said)
  })

  test('leaves the files of a bundle that runs when it is built again', {
    skip: process.platform === 'win32',
  }, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'mailkeep-bundle-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    await buildBundle(folder)
    // A process that has loaded an addon crashes when its file is overwritten.
    const addon = openSync(join(folder, 'better_sqlite3.node'), 'r')
    t.after(() => closeSync(addon))
    await buildBundle(folder)
    assert.equal(fstatSync(addon).nlink, 0)
    assert.deepEqual(readdirSync(folder).sort(), ['better_sqlite3.node', 'mailkeep.cjs'])
  })

  test('reports in one line that the plain bundle with better-sqlite3 13 does not run on it', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'mailkeep-bundle-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    await buildBundle(folder)
    const older = { ...process.versions, node: '23.5.0', napi: '9' }
    const preload = join(folder, 'older.cjs')
    writeFileSync(preload, `Object.defineProperty(process, 'versions', { value: ${JSON.stringify(older)} })`)
    const words = [join(folder, 'mailkeep.cjs'), 'migrate', '--database', join(folder, 'mail.db')]
    const runs = [[process.execPath, '--require', preload]]
    const node20 = findNode(20)
    if (node20) runs.push([node20])
    for (const [node, ...options] of runs) {
      const { status, stderr } = spawnSync(node!, [...options, ...words], { encoding: 'utf8', env: {} })
      assert.match(
        stderr,
        /^mailkeep: The SQLite of this bundle needs Node 22\.14 or later; this is Node 2\d[\d.]+\.\n$/,
      )
      assert.equal(status, 1)
    }
  })

  for (const [sqlite, kysely, fits] of [
    ['12.0.0', '0.28.0', true],
    ['12.11.1', '0.28.17', true],
    ['13.2.0', '0.29.9', true],
    ['11.10.0', '0.29.9', false],
    ['13.2.0', '0.27.6', false],
  ] as const) {
    test(`is ${fits ? 'accepted' : 'refused'} by npm beside better-sqlite3 ${sqlite} and Kysely ${kysely}`, async () => {
      const { name, version, peerDependencies, peerDependenciesMeta } = manifest
      const own = { name, version, peerDependencies, peerDependenciesMeta } // its dependencies would need the registry
      const project = packed.project(`peers ${sqlite} ${kysely}`, [], {
        'package.json': '{"private":true}',
        'own/package.json': JSON.stringify(own),
        'sqlite/package.json': JSON.stringify({ name: 'better-sqlite3', version: sqlite }),
        'kysely/package.json': JSON.stringify({ name: 'kysely', version: kysely }),
      })
      rmSync(join(project.folder, 'node_modules'), { recursive: true })
      const args = ['install', '--dry-run', '--offline', '--strict-peer-deps', './own', './sqlite', './kysely']
      const { status, stderr } = spawnSync('npm', args, { cwd: project.folder, encoding: 'utf8' })
      assert.equal(status === 0, fits, stderr)
      if (!fits) assert.match(stderr, /ERESOLVE/)
    })
  }

  const types = ['@types/node', '@types/better-sqlite3', '@types/pg']
  for (const [name, type, options] of [
    ['NodeNext', 'module', { module: 'NodeNext' }],
    ['NodeNext in CommonJS', 'commonjs', { module: 'NodeNext' }],
    ['Bundler', 'module', { module: 'ESNext', moduleResolution: 'Bundler' }],
  ] as const) {
    test(`compiles in strict mode with ${name}, including its own types`, async () => {
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

  const strictProject = JSON.stringify({
    compilerOptions: { strict: true, skipLibCheck: false, module: 'NodeNext', noEmit: true, types: ['node'] },
    files: ['main.ts'],
  })

  test('compiles in strict mode without the types of better-sqlite3 and pg', async () => {
    const project = packed.project('types without drivers', ['kysely', '@types/node'], {
      'package.json': '{"type":"module"}',
      'main.ts': typed,
      'tsconfig.json': strictProject,
    })
    await tool('tsc', ['-p', project.folder], project.folder)
  })

  test('accepts a handle of better-sqlite3 and a pool of pg with their own types', async () => {
    const project = packed.project('types of handles', [...drivers, ...types], {
      'package.json': '{"type":"module"}',
      'main.ts': `import Database from 'better-sqlite3'
        import pg from 'pg'
        import { postgres, type PostgresPool } from 'mailkeep/postgres'
        import { sqlite, type SqliteHandle } from 'mailkeep/sqlite'
        export const handle: SqliteHandle = new Database(':memory:')
        export const pool: PostgresPool = new pg.Pool()
        export const sources = [sqlite(new Database('mail.db')), postgres(new pg.Pool())]
        // @ts-expect-error neither a path nor a handle
        sqlite({})
        // @ts-expect-error neither a URL nor a pool
        postgres({})
        `,
      'tsconfig.json': strictProject,
    })
    await tool('tsc', ['-p', project.folder], project.folder)
  })

  const frameworks = ['express', 'fastify', 'hono', '@hono/node-server', 'tsx']
  let withExamples: Project | undefined
  for (const [name, play] of Object.entries(scenes)) {
    test(`runs the example ${name}`, async (t) => {
      if (!withExamples) {
        const beside = [...drivers, ...frameworks]
        withExamples = packed.project('examples', beside, { 'package.json': '{"type":"module"}' })
        cpSync(join(root, 'examples'), join(withExamples.folder, 'examples'), { recursive: true })
      }
      await play(t, withExamples)
    })
  }

  test('has examples that are all run, and are short', () => {
    const files = readdirSync(join(root, 'examples')).filter((name) => name.endsWith('.ts'))
    const names = files.map((file) => basename(file, '.ts'))
    assert.deepEqual(
      names.filter((name) => !(name in scenes)),
      [],
    )
    for (const file of files) {
      const lines = readFileSync(join(root, 'examples', file), 'utf8')
        .trimEnd()
        .split('\n').length
      assert.ok(lines <= (file === 'month.ts' ? 60 : 40), `${file} has ${lines} lines`)
    }
  })

  test('is imported by its entries only', () => {
    assert.deepEqual([...Object.keys(names), 'mailkeep/package.json'].sort(), entries.sort())
  })
})
