/** The text version of a mail, made from its html. */
import { compile } from 'html-to-text'
import { parseTemplate, type Template } from './liquid.ts'

const heading = { options: { uppercase: false } }

/**
 * Maximum characters of html that are converted, and maximum tags, lines and entities. They and the limits below bound the
 * time and the text: every list and quotation around a line indents it once more.
 */
const maxHtmlCharacters = 200_000
const maxHtmlParts = 20_000

const convert = compile({
  wordwrap: false,
  selectors: [
    { selector: 'a', options: { hideLinkHrefIfSameAsText: true } },
    { selector: 'img', format: 'skip' },
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, ...heading })),
  ],
  limits: { maxDepth: 60, maxChildNodes: 20_000 },
})

/** Converts html to text. Links stay readable beside their text. Images are left out. */
export function toPlainText(html: string): string {
  const parts = html.slice(0, maxHtmlCharacters).split(/(?=[<\n&])/, maxHtmlParts)
  return convert(parts.join(''))
}

/** Private-use characters, which mark the place of an output in the text. */
const [begin, end] = ['\uE000', '\uE001']

/**
 * Converts an html template to a text template, once for all recipients: converting each rendered html takes a hundred
 * times as long as rendering.
 *
 * @returns Null if it has tags or raw outputs. Then only the rendered html can be converted.
 */
export function textTemplateOf(html: string): Template[] | null {
  if (/\{%|\braw\b|[\uE000\uE001]/.test(html)) return null
  const outputs: string[] = []
  const marked = html.replace(/\{\{.*?\}\}/gs, (output) => `${begin}${outputs.push(output) - 1}${end}`)
  const converted = toPlainText(marked)
  if (/\{[{%]/.test(converted)) return null // written as entities in the html, and not meant as a tag
  const text = converted.replace(/\uE000(\d+)\uE001/g, (_, at) => outputs[at]!)
  try {
    return parseTemplate('text', text)
  } catch {
    return null // an output that contains its own end in quotes
  }
}
