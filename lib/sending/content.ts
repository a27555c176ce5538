/** The content of newsletters and steps: Liquid templates, rendered for each recipient. */
import { type Issue, invalid } from '../errors.ts'
import { escapeHtml, oneLine } from './escape.ts'
import { type Format, parseTemplate, Renderer, type Template, variablesOf } from './liquid.ts'
import { textTemplateOf, toPlainText } from './plain-text.ts'

/** The templates of a newsletter or step. Without a text it is made from the html. */
export interface Content {
  readonly subject: string
  readonly preheader: string | null
  readonly html: string
  readonly text: string | null
}

/** The parsed templates of a content. */
interface PreparedContent {
  readonly subject: readonly Template[]
  readonly preheader: readonly Template[] | null
  readonly html: readonly Template[]
  /** Null: made from the rendered html. */
  readonly text: readonly Template[] | null
}

/** The variables of templates. */
export interface ContentVariables {
  readonly contact: {
    readonly name: string | null
    readonly email: string
    readonly attributes: Readonly<Record<string, string>>
  }
  readonly unsubscribe_url: string
  readonly preferences_url: string
  readonly client: { readonly name: string; readonly postal_address: string }
}

export interface RenderedContent {
  readonly subject: string
  readonly html: string
  readonly text: string
}

type Field = keyof Content

/** Formats of the fields. Only values in html are escaped. The preheader is escaped as a whole when it is put into the html. */
const formats: Readonly<Record<Field, Format>> = { subject: 'text', preheader: 'text', html: 'html', text: 'text' }
const fields = Object.keys(formats) as Field[]

const knownVariables = [
  'contact.name',
  'contact.email',
  'contact.attributes',
  'unsubscribe_url',
  'preferences_url',
  'client.name',
  'client.postal_address',
]

/** Used to try a template before any recipient is known. */
const sample: ContentVariables = {
  contact: { name: 'Ada', email: 'ada@example.org', attributes: {} },
  unsubscribe_url: 'https://example.org/unsubscribe',
  preferences_url: 'https://example.org/preferences',
  client: { name: 'Example', postal_address: 'Example Street 1' },
}

const maxSubjectCharacters = 500
const maxPreheaderCharacters = 500

/** Maximum unknown variables that the error of one field names, and characters quoted of each. */
const maxListedVariables = 20
const maxQuotedCharacters = 100

/**
 * Checks templates without a recipient: their syntax, size and variables, and that they end when they are rendered.
 * `unsubscribe_url` must be in the html, and in the text if there is one.
 *
 * @returns The problems, with the field as path; empty when there are none.
 */
export function checkContent(content: Content): Issue[] {
  const renderer = new Renderer()
  return fields.flatMap((field) => checkTemplate(field, content, renderer).map((message) => ({ path: field, message })))
}

const missingLink = 'This must contain {{ unsubscribe_url }}.'

const hiddenLink =
  'This must show {{ unsubscribe_url }} to every contact, whatever its name and attributes are, and not in a comment.'

const lostLink =
  'The text made from this html does not contain {{ unsubscribe_url }}. Write a text, or simplify the html.'

function checkTemplate(field: Field, { [field]: source, text }: Content, renderer: Renderer): string[] {
  if (source === null) return []
  const hasText = text !== null
  const format = formats[field]
  try {
    const templates = parseTemplate(format, source)
    const paths = variablesOf(format, templates)
    const problems = unknownVariables(paths)
    const needsLink = field === 'html' || field === 'text'
    if (needsLink && !showsLink(paths)) problems.push(missingLink)
    if (problems.length > 0) return problems
    const rendered = renderer.render(format, templates, scopeOf(sample))
    if (needsLink && !visible(field, rendered).includes(sample.unsubscribe_url)) return [hiddenLink]
    const needsText = field === 'html' && !hasText
    return needsText && !toPlainText(rendered).includes(sample.unsubscribe_url) ? [lostLink] : []
  } catch (error) {
    return [messageOf(error)]
  }
}

/**
 * Returns the fields that lack `unsubscribe_url`. What else is wrong, also with the syntax, is left to `checkContent`:
 * a draft may have it.
 */
export function fieldsWithoutLink(fields: { [Field in 'html' | 'text']?: string | null | undefined }): Issue[] {
  return (['html', 'text'] as const).flatMap((path) => {
    const source = fields[path]
    return source === undefined || source === null || mayShowLink(path, source) ? [] : [{ path, message: missingLink }]
  })
}

function mayShowLink(field: 'html' | 'text', source: string): boolean {
  const shown = visible(field, source)
  try {
    return showsLink(variablesOf(formats[field], parseTemplate(formats[field], shown)))
  } catch {
    return shown.includes('unsubscribe_url')
  }
}

/** Leaves out the comments of html: no one sees a link in them. `<!-->` is an empty comment. */
function visible(field: Field, content: string): string {
  return field === 'html' ? content.replace(/<!--(?:-?>|[\s\S]*?(?:-->|$))/g, '') : content
}

function showsLink(paths: readonly (readonly unknown[])[]): boolean {
  return paths.some(([root]) => root === 'unsubscribe_url')
}

function unknownVariables(paths: readonly (readonly unknown[])[]): string[] {
  const unknown = new Set<string>()
  for (const path of paths) {
    if (unknown.size === maxListedVariables) break
    if (!isKnown(path))
      unknown.add(
        path
          .filter((part) => typeof part !== 'object')
          .join('.')
          .slice(0, maxQuotedCharacters),
      )
  }
  if (unknown.size === 0) return []
  const names = [...unknown].map((name) => `"${name}"`).join(', ')
  return [`There is no variable ${names}. Known: ${knownVariables.join(', ')}.`]
}

/** Attributes may have any name, also one that the template computes. Of a text, Liquid knows the `size` only. */
function isKnown([root, ...path]: readonly unknown[]): boolean {
  const name = root === 'contact' || root === 'client' ? `${root}.${path.shift()}` : String(root)
  if (name === 'contact.attributes') path.shift()
  return knownVariables.includes(name) && (path.length === 0 || (path.length === 1 && path[0] === 'size'))
}

/** Says what is wrong with a template. The first line of Liquid's message has the place. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) throw error
  const { message } = error
  if (/call stack/.test(message)) return 'This template is nested too deeply.'
  if (/limit exceeded/.test(message))
    return `This template takes too much time or memory: ${message.slice(0, maxQuotedCharacters)}.`
  return `This template is wrong: ${message.slice(0, 2 * maxQuotedCharacters)}.`
}

/**
 * Parses the templates once for many recipients.
 *
 * @throws MailkeepError `validation_failed` on the field whose syntax is wrong. `checkContent` finds that before.
 */
export function prepareContent(content: Content): PreparedContent {
  const prepare = (field: Field) => attempt(field, () => parseTemplate(formats[field], content[field]!))
  return {
    subject: prepare('subject'),
    preheader: content.preheader === null ? null : prepare('preheader'),
    html: prepare('html'),
    text: content.text === null ? textTemplateOf(content.html) : prepare('text'),
  }
}

/**
 * Renders a content for one recipient. Without a text template the text is made from the html.
 *
 * @returns The subject is one line without control characters.
 * @throws MailkeepError `validation_failed` on the field that takes too much time or memory, or that hides the link to
 *   unsubscribe from this recipient.
 */
export function render(prepared: PreparedContent, variables: ContentVariables): RenderedContent {
  const scope = scopeOf(variables)
  const renderer = new Renderer()
  const fill = (field: Field) =>
    attempt(field, () => renderer.render(formats[field], prepared[field] as Template[], scope))
  const html = fill('html')
  const text = prepared.text === null ? attempt('text', () => toPlainText(html)) : fill('text')
  requireShownLink({ html, text }, variables)
  const preheader = prepared.preheader === null ? '' : shortLine(fill('preheader'), maxPreheaderCharacters)
  return { subject: shortLine(fill('subject'), maxSubjectCharacters), html: withPreheader(html, preheader), text }
}

/** A condition on a name or an attribute passes the check of the template, and may still hide the link from a recipient. */
function requireShownLink(
  rendered: Pick<RenderedContent, 'html' | 'text'>,
  { unsubscribe_url }: ContentVariables,
): void {
  const end = new URL(unsubscribe_url).pathname.split('/').slice(-2).join('/') // has nothing that html escapes
  for (const field of ['html', 'text'] as const)
    if (!visible(field, rendered[field]).includes(end)) throw invalid(field, hiddenLink)
}

function attempt<T>(field: Field, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw invalid(field, messageOf(error), error)
  }
}

const noText = 'contact.attributes is no text: name the attribute, as in contact.attributes.city'

/**
 * Liquid's `size` of an object is the number of its fields. Here it is an attribute like any other. All attributes
 * together are no text: without an error a mail would show "[object Object]".
 */
function scopeOf({ contact, ...rest }: ContentVariables): object {
  const attributes = { ...contact.attributes }
  const toText = () => {
    throw new Error(noText)
  }
  Object.defineProperty(attributes, Symbol.toPrimitive, { value: toText })
  if (!Object.hasOwn(attributes, 'size')) Object.defineProperty(attributes, 'size', { value: '' })
  return { ...rest, contact: { ...contact, attributes } }
}

function shortLine(text: string, maxCharacters: number): string {
  const line = oneLine(text)
  return line.length <= maxCharacters ? line : [...line].slice(0, maxCharacters).join('').trimEnd()
}

/** Without a tiny font: SpamAssassin counts it as invisible text. */
const hidden = 'display:none;max-height:0;max-width:0;opacity:0;overflow:hidden'

/**
 * A comment, or what precedes the text of a page: its doctype, the end of its head, and the tags of the page and its body.
 * Values of attributes may contain `>`.
 */
const commentOrStart =
  /<!--[\s\S]*?(?:-->|$)|<!doctype[^>]*>?|<\/head\s*>|<(?:html|body)(?=[\s>])(?:[^>"']|"[^"]*(?:"|$)|'[^']*(?:'|$))*>?/gi

/** Puts the preheader at the start of the body, hidden. Mail programs show it beside the subject. */
function withPreheader(html: string, preheader: string): string {
  if (preheader === '') return html
  const starts = [...html.matchAll(commentOrStart)].filter(
    ([found]) => !found.startsWith('<!--') && found.endsWith('>'),
  )
  const start = starts.find(([found]) => /^<body/i.test(found)) ?? starts.at(-1)
  const at = start ? start.index + start[0].length : 0
  return `${html.slice(0, at)}<div style="${hidden}">${escapeHtml(preheader)}</div>${html.slice(at)}`
}
