/**
 * Writes lib/REFERENCE.md and the files `api-types.ts` from the docstrings, and the client's types from the API's
 * description. Run: npm run reference
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript-5'
import { apiTypes, docOf, parse } from './api-types.ts'
import { clientTypes } from './client-types.ts'
import { publicExports } from './public-exports.ts'

const root = join(import.meta.dirname, '..')

/** Returns the text of lib/REFERENCE.md for the current sources. */
export function reference(): string {
  const bySubject = sections()
  return `${[...bySubject, ...section('Other names', otherNames(bySubject.join('\n')))].join('\n')}\n`
}

/** Shows what the package exports and the text does not have. Interfaces such as ContactsApi are shown as methods. */
function otherNames(text: string): string[] {
  return publicExports()
    .filter(({ name }) => !/Api$/.test(name) && !new RegExp(`^##+ \`${name}\`$`, 'm').test(text))
    .flatMap(({ name, declaredAs, file }) => declared(file, [declaredAs], name))
}

function sections(): string[] {
  return [
    '# API reference',
    '',
    'Written by `npm run reference` from the docstrings: change them, not this file.',
    '',
    'Every operation validates its input and throws one class, `MailkeepError`; the codes it may throw are named. Besides these, any that reads or writes may throw `unavailable`, when the database cannot be reached or written now.',
    ...section('Opening: `mailkeep`', [
      ...declared('lib/mailkeep.ts', ['createMailkeep']),
      ...declared('lib/options.ts', ['MailkeepOptions']),
      ...declared('lib/webhooks/settings.ts', ['WebhookSettings']),
      ...declared('lib/sending/settings.ts', ['MailSettings']),
      ...declared('lib/storage/sqlite.ts', ['sqlite', 'SqliteOptions']),
      ...declared('lib/storage/sqlite/handle.ts', ['SqliteHandle', 'SqliteStatement']),
      ...declared('lib/storage/postgres.ts', ['postgres', 'PostgresOptions']),
      ...declared('lib/storage/postgres/driver.ts', ['PostgresPool']),
      ...declared('lib/storage/kysely.ts', ['kysely', 'KyselyOptions']),
    ]),
    ...section('`Mailkeep`', members('lib/mailkeep.ts', 'Mailkeep', 'mailkeep')),
    ...section('`mailkeep.on`', [
      ...declared('lib/webhooks/handlers/handlers.ts', ['EventHandler', 'HandledEvent', 'Handling']),
      ...declared('lib/webhooks/handlers/subscribers.ts', ['Subscriber']),
    ]),
    ...section('`mailkeep.clients`', members('lib/clients/api-types.ts', 'ClientsApi', 'clients')),
    ...section('`mailkeep.tokens`', members('lib/clients/api-types.ts', 'TokensApi', 'tokens')),
    ...section('`mailkeep.forClient(id)`', [
      ...members('lib/idempotency/schema.ts', 'IdempotencyApi', 'client'),
      ...declared('lib/idempotency/schema.ts', ['IdempotentResult']),
    ]),
    ...apiSection('lib/contacts/api-types.ts', 'Contacts'),
    ...['Imports', 'Suppressions', 'Lists', 'Tags', 'Topics', 'Segments', 'Identities'].flatMap((slice) => {
      return apiSection('lib/api-types.ts', slice)
    }),
    ...section(
      '`mailkeep.forClient(id).settings.attributes`',
      members('lib/api-types.ts', 'AttributeSettingsApi', 'attributes'),
    ),
    ...section('`mailkeep.forClient(id).settings.pages`', members('lib/api-types.ts', 'PageSettingsApi', 'pages')),
    ...section('`mailkeep.links`', members('lib/contacts/api-types.ts', 'LinksApi', 'links')),
    ...section('`mailkeep.forClient(id).tokens`', members('lib/clients/api-types.ts', 'ClientTokensApi', 'tokens')),
    ...section('`mailkeep.forClient(id).auditLog`', members('lib/api-types.ts', 'AuditLogApi', 'auditLog')),
    ...apiSection('lib/api-types.ts', 'Stats'),
    ...apiSection('lib/clients/api-types.ts', 'Portal'),
    ...['Newsletters', 'Sequences'].flatMap((slice) => apiSection('lib/sending/api-types.ts', slice)),
    ...['Webhooks', 'Events'].flatMap((slice) => apiSection('lib/webhooks/api-types.ts', slice)),
    ...section('Inputs', [
      ...inputFiles.flatMap((file) => types(file, true)),
      ...declared('lib/contacts/contact-key.ts', ['ContactKey']),
      ...declared('lib/limits.ts', ['inputLimits']),
    ]),
    ...section('Records', [
      ...[
        'clients',
        'audit',
        'contacts',
        'imports',
        'lists',
        'tags',
        'topics',
        'segments',
        'consent',
        'pages',
        'attributes',
        'identities',
        'webhooks',
        'sending',
      ].flatMap((slice) => types(`lib/${slice}/schema.ts`, false)),
      ...['message', 'sequence'].flatMap((name) => types(`lib/sending/${name}-schema.ts`, false)),
      ...declared('lib/webhooks/recovery.ts', ['Recovery']),
      ...declared('lib/contacts/group-counts.ts', ['Counted']),
      ...declared('lib/page.ts', ['Page']),
      ...declared('lib/contacts/links.ts', ['ContactLinks', 'OpenedLink']),
      ...declared('lib/contacts/preferences.ts', ['Preferences', 'ListPreferences', 'TopicPreference']),
    ]),
    ...section('Errors', [
      ...declared('lib/errors.ts', [
        'errorCodes',
        'ErrorCode',
        'MailkeepError',
        'isMailkeepError',
        'Issue',
        'RateLimit',
      ]),
    ]),
    ...section('Mounting: `mailkeep/http`', [
      ...declared('daemon/http/node.ts', ['createHandler', 'Handler']),
      ...declared('daemon/http/web.ts', ['createFetchHandler']),
      ...declared('daemon/http/mount.ts', ['MountOptions']),
      ...declared('daemon/http/contact-pages.ts', ['createContactPages', 'ContactPages']),
      ...declared('daemon/pages/index.ts', ['ContactPagesOptions']),
    ]),
    ...section('Sending mail: `mailkeep/smtp`', [
      ...declared('lib/sending/transports/smtp.ts', ['smtp', 'SmtpOptions', 'DkimOptions']),
    ]),
    ...section('Sending mail: transports of `mailkeep`', [
      ...declared('lib/sending/transports/folder.ts', ['folder']),
      ...declared('lib/sending/transport.ts', ['MailTransport', 'MailMessage', 'MailOutcome', 'UncertainError']),
      ...declared('lib/sending/headers.ts', ['mailHeaders', 'MailHeadersInput']),
    ]),
    ...section('Amazon SES: `mailkeep/ses`', [
      ...declared('lib/identities/ses.ts', ['ses', 'SesOptions']),
      ...declared('lib/sending/transports/ses.ts', ['sesMail', 'SesMailOptions']),
    ]),
    ...section('Testing: `mailkeep/testing`', [
      ...declared('lib/testing.ts', ['testMailkeep', 'TestOptions', 'TestKit', 'KitEvent']),
      ...declared('lib/testing/clock.ts', ['Duration', 'DurationUnit']),
      ...members('lib/testing/clock.ts', 'TestClock', 'clock'),
      ...declared('lib/testing/sender.ts', ['CapturedDelivery', 'ReplyTo', 'Reply']),
      ...declared('lib/testing/mail.ts', ['CapturedMail', 'MailReplyTo', 'MailReply']),
    ]),
    ...section('Calling the API: `mailkeep/client`', [
      ...declared('daemon/client/index.ts', ['createClient', 'Client', 'ImportFile', 'ImportOptions', 'ImportCounts']),
      ...declared('daemon/client/options.ts', ['ClientOptions']),
      ...declared('daemon/client/request.ts', ['ApiError']),
      ...declared('daemon/client/methods.ts', ['CallOptions', 'Listing', 'Page']),
    ]),
    ...section('Receiving: `mailkeep/receiver`', [
      ...declared('lib/webhooks/receiver.ts', [
        'verifyDelivery',
        'VerifyOptions',
        'DeliveryVerificationError',
        'DeliveryErrorCode',
        'WebhookEvent',
        'EventEnvelope',
        'ContactData',
      ]),
    ]),
  ]
}

function section(title: string, lines: readonly string[]): string[] {
  return ['', `## ${title}`, ...lines]
}

function apiSection(file: string, slice: string): string[] {
  const name = slice.toLowerCase()
  return section(`\`mailkeep.forClient(id).${name}\``, members(file, `${slice}Api`, name))
}

const inputFiles = [
  'lib/clients/schema.ts',
  'lib/audit/schema.ts',
  'lib/page.ts',
  'lib/contacts/schema.ts',
  'lib/contacts/group-counts.ts',
  'lib/segments/filters.ts',
  'lib/segments/schema.ts',
  'lib/attributes/schema.ts',
  'lib/contacts/changing.ts',
  'lib/contacts/merging.ts',
  'lib/contacts/batch-schema.ts',
  'lib/contacts/iterate.ts',
  'lib/abort.ts',
  'lib/contacts/transfer/import.ts',
  'lib/contacts/transfer/export.ts',
  ...['consent', 'lists', 'tags', 'topics', 'identities', 'webhooks'].map((slice) => `lib/${slice}/schema.ts`),
  'lib/webhooks/delivery-listing.ts',
  'lib/webhooks/event-batch.ts',
  'lib/webhooks/recovery.ts',
  'lib/sending/schema.ts',
  'lib/sending/message-schema.ts',
  'lib/sending/sequence-schema.ts',
]

/** Whether the name is a type of input: `ContactInput`, `IdsInput`. */
function isInput(name: string): boolean {
  return /Input$/.test(name) || ['ImportCounts', 'BatchOperationResult', 'EventBatchResult'].includes(name)
}

/** A declaration that a file exports. */
interface Declaration {
  readonly kind: string
  readonly node: ts.Node
}

/** Returns the declarations that a file exports, by name. Of a schema and its type with one name, only the first. */
function declarationsOf(file: string): Map<string, Declaration> {
  const found = new Map<string, Declaration>()
  for (const node of parse(file).statements) {
    const [, kind, name] = /^export (?:async )?(function|interface|type|class|const) (\w+)/.exec(node.getText()) ?? []
    if (kind && !found.has(name!)) found.set(name!, { kind, node })
  }
  return found
}

/** Shows the types of input of a file, or its other interfaces. */
function types(file: string, areInputs: boolean): string[] {
  const kinds = areInputs ? ['interface', 'type'] : ['interface']
  const names = [...declarationsOf(file)].filter(
    ([name, { kind }]) => kinds.includes(kind) && isInput(name) === areInputs,
  )
  return declared(
    file,
    names.map(([name]) => name),
  )
}

/** Shows declarations from the source. Functions lose their bodies, and classes their private parts. */
function declared(file: string, names: readonly string[], shownAs?: string): string[] {
  const declarations = declarationsOf(file)
  return names.flatMap((name) => {
    const found = declarations.get(name)
    if (!found) throw new Error(`${file} exports no ${name}`)
    const code = found.kind === 'class' ? publicShape(found.node as ts.ClassDeclaration) : signatureOf(found.node)
    const shown = code
      .replace(internalMember, '')
      .replace(/^export (?:async )?(\w+) \w+/, `export $1 ${shownAs ?? name}`)
    return item(shownAs ?? name, found.node, shown)
  })
}

function item(title: string, node: ts.Node, code: string): string[] {
  return ['', `### \`${title}\``, ...text(docOf(node)), '', '```ts', code, '```']
}

const internalMember = /^ {2}\/\*\*(?:(?!\*\/)[\s\S])*@internal(?:(?!\*\/)[\s\S])*\*\/\n.*\n/gm

/** Returns the text of a declaration, without the body of a function. */
function signatureOf(node: ts.Node): string {
  const { body } = node as { body?: ts.Node }
  return node
    .getText()
    .slice(0, body && body.getStart() - node.getStart())
    .trimEnd()
}

/** Returns a class with its public fields. */
function publicShape(node: ts.ClassDeclaration): string {
  const [head] = node.getText().split('\n')
  const fields = node.members.filter(
    (member) => ts.isGetAccessor(member) || (ts.isPropertyDeclaration(member) && !ts.isPrivateIdentifier(member.name)),
  )
  const lines = fields.flatMap((field) => [docOf(field), signatureOf(field)].filter(Boolean).map((line) => `  ${line}`))
  return [head, ...lines, '}'].join('\n')
}

/** Shows the documented methods of a class or an interface. */
function members(file: string, name: string, prefix: string): string[] {
  const { node } = declarationsOf(file).get(name)!
  return [...(node as ts.ClassDeclaration | ts.InterfaceDeclaration).members]
    .filter((member) => (ts.isMethodDeclaration(member) || ts.isMethodSignature(member)) && docOf(member) !== '')
    .filter((member) => !docOf(member).includes('@internal'))
    .flatMap((member) => {
      const code = signatureOf(member)
        .replace(/^async /, '')
        .replace(/\n {2}/g, '\n')
      return item(`${prefix}.${member.name!.getText()}`, member, code)
    })
}

/** Converts a docstring to Markdown. */
function text(doc: string): string[] {
  const plain = doc
    .slice('/**'.length, -'*/'.length)
    .replace(/^\s*\* ?/gm, '')
    .trim()
  if (plain === '') return []
  const [about = '', ...tags] = plain.split(/^@/m)
  const lines = about.trim() === '' ? [] : ['', paragraphs(about)]
  const items = tags.filter((tag) => !tag.startsWith('example')).map(tagLine)
  if (items.length > 0) lines.push('', ...items)
  for (const tag of tags) if (tag.startsWith('example')) lines.push('', '```ts', tag.slice(8).trim(), '```')
  return lines
}

function tagLine(tag: string): string {
  const said = tag.replace(/\s+/g, ' ').trim()
  const [, kind, rest = ''] = /^(\w+) ?(.*)$/.exec(said) ?? []
  if (kind === 'param') return `- ${rest.replace(/^(\S+)/, '`$1`:')}`
  if (kind === 'throws') return `- Throws ${rest.replace(/^MailkeepError /, '')}`
  return `- ${kind === 'returns' ? 'Returns' : kind} ${rest}`
}

function paragraphs(about: string): string {
  return about
    .trim()
    .split(/\n{2,}/)
    .map((one) => one.replace(/\n/g, ' '))
    .join('\n\n')
}

if (process.argv[1] === import.meta.filename) {
  for (const [path, text] of apiTypes()) writeFileSync(join(root, path), text)
  writeFileSync(join(root, 'lib/REFERENCE.md'), reference())
  writeFileSync(join(root, 'daemon/client/api.ts'), clientTypes())
}
