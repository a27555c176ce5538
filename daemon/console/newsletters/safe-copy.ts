import { bodyAttribute, safeSheet, setStyle } from './safe-style.ts'

/**
 * Copies a mail's HTML into nodes that the page's Content-Security-Policy allows: no scripts, no frames, no handlers, no
 * pictures of other hosts. Styles are set by script, because the policy refuses them in markup.
 */
export function safeCopy(html: string): { readonly content: Node; readonly sheets: CSSStyleSheet[] } {
  const sheets: CSSStyleSheet[] = []
  const inert = html.replace(hiddenOrTag, (hidden: string, name?: string, start?: string, rest = '') => {
    if (start !== undefined) return start + rest.replace(attribute, withInertName)
    if (name?.toLowerCase() === 'style') sheets.push(safeSheet(hidden))
    return ''
  })
  // The parser would apply the policy to style attributes, and report each.
  return { content: copyOf(new DOMParser().parseFromString(inert, 'text/html').documentElement)[0]!, sheets }
}

const words = (text: string): readonly string[] => text.split(/\s+/)

const kept = new Set(
  words(`a abbr address b bdi bdo big blockquote br caption center cite code col colgroup dd del div dl dt em figcaption
    figure font h1 h2 h3 h4 h5 h6 hr i ins kbd li mark ol p pre q s samp small span strike strong sub sup table tbody td
    tfoot th thead tr tt u ul var wbr`),
)
/** Blocks that become a `div`. As themselves they would be parts of the console's page. */
const blocks = new Set(
  words('article aside body details fieldset footer form header hgroup html legend main nav search section summary'),
)
const attributes =
  words(`align bgcolor border cellpadding cellspacing class color colspan dir face height id lang nowrap reversed
  rowspan size span start type valign value width`)
const dropped = new Set(words('head iframe math noscript object svg template'))
const styleName = 'data-mail-style'

/** A comment, or an element whose content is no markup. It may end inside its end tag, which keeps the search linear. */
const hidden =
  /<!--(?:-?>|[\s\S]*?(?:--!?>|$))|<(style|script|title)(?=[\s/>])[\s\S]*?(?:<\/\1(?=[\s/>])[^>]*(?:>|$)|$)/gi

/** The name of an attribute and its value, as the standard of HTML reads them. */
const attribute = /([^\s/>][^\s/>=]*)(\s*=\s*(?:"[^"]*"?|'[^']*'?|[^\s"'>][^\s>]*)?)?/g
const tag = new RegExp(`(<[a-z][^\\s/>]*)((?:[\\s/]+|${attribute.source})*)`, 'gi')
/** One expression, because a quoted value may contain what looks like a comment or an element. */
const hiddenOrTag = new RegExp(`${hidden.source}|${tag.source}`, 'gi')

function withInertName(_: string, name: string, value = ''): string {
  return (name.toLowerCase() === 'style' ? styleName : name) + value
}

function copies(parent: ParentNode): Node[] {
  return [...parent.childNodes].flatMap((node) => {
    if (node instanceof Text) return [document.createTextNode(node.data)]
    return node instanceof Element ? copyOf(node) : []
  })
}

function copyOf(element: Element): Node[] {
  const name = element.localName
  if (dropped.has(name)) return []
  if (name === 'img') return [placeholder(element)]
  if (!kept.has(name) && !blocks.has(name)) return copies(element)
  const copy = document.createElement(kept.has(name) ? name : 'div')
  for (const attribute of attributes) {
    const value = element.getAttribute(attribute)
    if (value !== null) copy.setAttribute(attribute, value)
  }
  const href = element.getAttribute('href') ?? ''
  if (copy instanceof HTMLAnchorElement && /^(?:https?|mailto):/i.test(href)) {
    copy.href = href
    copy.target = '_blank'
    copy.rel = 'noreferrer noopener'
  }
  const style = element.getAttribute(styleName)
  if (style !== null) setStyle(copy, style)
  if (name === 'body') copy.setAttribute(bodyAttribute, '')
  copy.append(...copies(element))
  return [copy]
}

function placeholder(image: Element): Node {
  const copy = document.createElement('span')
  copy.textContent = `[picture: ${image.getAttribute('alt') || 'without a text'}]`
  return copy
}
