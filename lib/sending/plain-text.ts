/** The text version of a mail, made from its html. */
import { compile, type DomNode } from 'html-to-text'
import { parseTemplate, type Template } from './liquid.ts'

const heading = { options: { uppercase: false } }

/**
 * Maximum characters of html that are converted, and maximum tags, lines and entities. They and the limits below bound the
 * time and the text: every list and quotation around a line indents it once more.
 */
const maxHtmlCharacters = 200_000
const maxHtmlParts = 20_000

/** Elements that begin a line of their own. Mails have tables for their layout, so a row is a line. */
const lines = ['tr', 'caption', 'center', 'address', 'dt', 'dd', 'figure', 'figcaption']
const line = { format: 'block', options: { leadingLineBreaks: 1, trailingLineBreaks: 1 } }

const convert = compile({
  wordwrap: false,
  formatters: {
    /** Separates cells: without a space, a link in one would continue with the text of the next. */
    cell(element, walk, builder) {
      builder.addInline(' ')
      walk(element.children, builder)
      builder.addInline(' ')
    },
    image(element, _walk, builder) {
      if (isInLink(element)) builder.addInline(` ${element.attribs.alt ?? ''} `)
    },
  },
  selectors: [
    ...lines.map((selector) => ({ selector, ...line })),
    ...['td', 'th'].map((selector) => ({ selector, format: 'cell' })),
    // The brackets of RFC 3986: mail programs do not take them for a part of the link.
    { selector: 'a', options: { hideLinkHrefIfSameAsText: true, linkBrackets: ['<', '>'] } },
    { selector: 'img', format: 'image' },
    ...['display:none', 'display: none'].map((style) => ({ selector: `[style*="${style}" i]`, format: 'skip' })),
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, ...heading })),
  ],
  limits: { maxDepth: 60, maxChildNodes: 20_000 },
})

function isInLink({ parent }: DomNode): boolean {
  return parent ? parent.name === 'a' || isInLink(parent) : false
}

/**
 * Converts html to text. Links stay readable beside their text. Images are left out, except as the text of a link,
 * and so are elements that their own style hides, such as a preheader in a template.
 */
export function toPlainText(html: string): string {
  const parts = html.slice(0, maxHtmlCharacters).split(/(?=[<\n&])/, maxHtmlParts)
  return convert(parts.join(''))
}

/** Private-use characters, which mark the place of an output in the text. */
const [begin, end] = ['\uE000', '\uE001']

/**
 * Tags, raw and escaped outputs, private-use characters, outputs that trim the white space beside them, and numbers of
 * lists.
 */
const unconvertible = /\{%|\braw\b|\|\s*(?:xml_)?escape|[\uE000\uE001]|\{\{-|-\}\}|\bstart\s*=\s*["']?\{\{/i

/**
 * Converts an html template to a text template, once for all recipients: converting each rendered html takes a hundred
 * times as long as rendering.
 *
 * @returns Null if it cannot be converted, or is too long with its outputs. Then the rendered html is converted.
 */
export function textTemplateOf(html: string): Template[] | null {
  if (unconvertible.test(html)) return null
  const places = new Map<string, number>() // equal outputs have one place, so a link is not written beside the same text
  const marked = html.replace(/\{\{.*?\}\}/gs, (output) => {
    if (!places.has(output)) places.set(output, places.size)
    return `${begin}${places.get(output)}${end}`
  })
  if (marked.length > maxHtmlCharacters) return null
  const outputs = [...places.keys()]
  const converted = toPlainText(marked)
  if (/\{[{%]/.test(converted)) return null // written as entities in the html, and not meant as a tag
  const text = converted.replace(/\uE000(\d+)\uE001/g, (_, at) => outputs[at]!)
  try {
    return parseTemplate('text', text)
  } catch {
    return null // an output that contains its own end in quotes
  }
}
