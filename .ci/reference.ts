/**
 * Writes lib/REFERENCE.md and the files `api-types.ts` from the docstrings, and the client's types from the API's
 * description. Run: npm run reference
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { apiTypes } from './api-types.ts'
import { clientTypes } from './client-types.ts'
import { publicExports } from './public-exports.ts'

const root = join(import.meta.dirname, '..')

/** A documented declaration: a function, a method or a whole interface. */
interface Item {
  readonly name: string
  readonly doc: string
  readonly code: string
}

type Show = (file: string, names: readonly string[], shownAs?: string) => string[]

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
    ...section('`Mailkeep`', members('lib/mailkeep.ts', 'class Mailkeep', 'mailkeep')),
    ...section('`mailkeep.on`', [
      ...declared('lib/webhooks/handlers/handlers.ts', ['EventHandler', 'HandledEvent', 'Handling']),
      ...declared('lib/webhooks/handlers/subscribers.ts', ['Subscriber']),
    ]),
    ...section('`mailkeep.clients`', members('lib/clients/api-types.ts', 'interface ClientsApi', 'clients')),
    ...section('`mailkeep.tokens`', members('lib/clients/api-types.ts', 'interface TokensApi', 'tokens')),
    ...section('`mailkeep.forClient(id)`', [
      ...members('lib/idempotency/schema.ts', 'interface IdempotencyApi', 'client'),
      ...declared('lib/idempotency/schema.ts', ['IdempotentResult']),
    ]),
    ...apiSection('lib/contacts/api-types.ts', 'Contacts'),
    ...['Imports', 'Suppressions', 'Lists', 'Tags', 'Topics', 'Segments', 'Identities'].flatMap((slice) => {
      return apiSection('lib/api-types.ts', slice)
    }),
    ...section(
      '`mailkeep.forClient(id).settings.attributes`',
      members('lib/api-types.ts', 'interface AttributeSettingsApi', 'attributes'),
    ),
    ...section(
      '`mailkeep.forClient(id).settings.pages`',
      members('lib/api-types.ts', 'interface PageSettingsApi', 'pages'),
    ),
    ...section('`mailkeep.links`', members('lib/contacts/api-types.ts', 'interface LinksApi', 'links')),
    ...section(
      '`mailkeep.forClient(id).tokens`',
      members('lib/clients/api-types.ts', 'interface ClientTokensApi', 'tokens'),
    ),
    ...section('`mailkeep.forClient(id).auditLog`', members('lib/api-types.ts', 'interface AuditLogApi', 'auditLog')),
    ...apiSection('lib/api-types.ts', 'Stats'),
    ...apiSection('lib/clients/api-types.ts', 'Portal'),
    ...['Newsletters', 'Sequences'].flatMap((slice) => apiSection('lib/sending/api-types.ts', slice)),
    ...['Webhooks', 'Events'].flatMap((slice) => apiSection('lib/webhooks/api-types.ts', slice)),
    ...section('Inputs', [
      ...inputFiles.flatMap((file) =>
        declared(
          file,
          exported(file).filter((name) => isInput(name) && !/^export const/.test(itemOf(file, name)!.code)),
        ),
      ),
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
      ].flatMap((slice) => records(`lib/${slice}/schema.ts`)),
      ...['message', 'sequence'].flatMap((name) => records(`lib/sending/${name}-schema.ts`)),
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
      ...members('lib/testing/clock.ts', 'class TestClock', 'clock'),
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
  return section(`\`mailkeep.forClient(id).${name}\``, members(file, `interface ${slice}Api`, name))
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

const records = (file: string) => {
  return declared(
    file,
    exported(file).filter((name) => !isInput(name) && /^export interface/.test(itemOf(file, name)?.code ?? '')),
  )
}

const read = (file: string) => readFileSync(join(root, file), 'utf8')

/** Returns the names that a file exports, in source order. */
function exported(file: string): string[] {
  const names = [...read(file).matchAll(/^export (?:interface|type|const) (\w+)/gm)].map((match) => match[1]!)
  return [...new Set(names)] // a schema may have the name of its type
}

/** Returns declarations from the source. Functions lose their bodies, and classes their private parts. */
const declared: Show = (file, names, shownAs) =>
  names.flatMap((name) => {
    const item = itemOf(file, name)
    if (!item) throw new Error(`${file} exports no ${name}`)
    const code = item.code.replace(new RegExp(`(?<=^export \\w+ )${name}\\b`), shownAs ?? name)
    return ['', `### \`${shownAs ?? name}\``, ...text(item.doc), '', '```ts', code, '```']
  })

function itemOf(file: string, name: string): Item | undefined {
  const source = read(file)
  const start = new RegExp(
    `(?:/\\*\\*((?:(?!\\*/)[\\s\\S])*)\\*/\\n(?:// biome-ignore .*\\n)?)?(^export (?:async )?(function|interface|type|class|const) ${name}\\b)`,
    'm',
  ).exec(source)
  if (!start) return undefined
  const [whole, doc = '', head, kind] = start
  const rest = source.slice(start.index + whole.length - head!.length)
  const end =
    kind === 'function'
      ? signatureEnd(rest)
      : kind === 'type' || kind === 'const'
        ? rest.search(/\n(?=\n|\/\*\*|export )/)
        : rest.search(/\{\}$|\n\}/m) + 2
  const code = rest
    .slice(0, end < 0 ? undefined : end)
    .trimEnd()
    .replace('export async', 'export')
  return { name, doc, code: kind === 'class' ? publicShape(code) : code.replace(internalMember, '') }
}

const internalMember = /^ {2}\/\*\*(?:(?!\*\/)[\s\S])*@internal(?:(?!\*\/)[\s\S])*\*\/\n.*\n/gm

/** Returns a class without private members and bodies. */
function publicShape(code: string): string {
  const [head] = code.split('\n')
  const fields =
    code.match(/^ {2}(?:\/\*\*.*\*\/|(?:override )?readonly [a-z].*|get .*(?= \{$))$|^ {2}get .*(?= \{$)/gm) ?? []
  return [head, ...fields, '}'].join('\n')
}

/** Returns the position where the signature ends and the body begins. */
function signatureEnd(text: string): number {
  let depth = 0
  for (let at = text.indexOf('('); at < text.length; at++) {
    if ('([{<'.includes(text[at]!)) {
      if (text[at] === '{' && depth === 0)
        return /[:&|] $/.test(text.slice(0, at)) ? at + balanced(text.slice(at)) : at - 1
      depth++
    } else if (')]}'.includes(text[at]!) || (text[at] === '>' && text[at - 1] !== '=')) depth--
    else if (text[at] === '\n' && depth === 0) return at
  }
  return text.length
}

function balanced(text: string): number {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '{') depth++
    else if (text[at] === '}' && --depth === 0) return at + 1
  }
  return text.length
}

/** Returns the documented methods of a class or an interface. */
function members(file: string, head: string, prefix: string): string[] {
  const source = read(file)
  const from = source.indexOf(`export ${head}`)
  if (from < 0) throw new Error(`${file} exports no ${head}`)
  const body = source.slice(from, source.indexOf('\n}', from))
  const methods = [...body.matchAll(/^ {2}\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n {2}(?:async )?(?=([a-z]\w*)[(<])/gm)]
  return methods
    .filter(({ 1: doc, 2: name }) => !doc!.includes('@internal') && name !== 'constructor')
    .flatMap((match) => {
      const rest = body.slice(match.index + match[0].length)
      const code = rest.slice(0, signatureEnd(rest)).replace(/\n {2}/g, '\n')
      return ['', `### \`${prefix}.${match[2]}\``, ...text(match[1]!), '', '```ts', code, '```']
    })
}

/** Converts a docstring to Markdown. */
function text(doc: string): string[] {
  const plain = doc.replace(/^\s*\* ?/gm, '').trim()
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
