/**
 * Copies a mail's HTML into nodes that the page's Content-Security-Policy allows: no scripts, no frames, no handlers, no
 * pictures of other hosts. Styles are set by script, because the policy refuses style attributes in markup.
 */
export function safeCopy(html: string): Node {
  const body = document.createElement('div')
  body.append(...copies(new DOMParser().parseFromString(withInertStyles(html), 'text/html').body))
  return body
}

const kept = new Set(
  'a abbr b blockquote br center code div em font h1 h2 h3 h4 h5 h6 hr i li ol p pre s small span strong sub sup table tbody td tfoot th thead tr u ul'.split(
    ' ',
  ),
)
const attributes = ['align', 'bgcolor', 'border', 'cellpadding', 'cellspacing', 'colspan', 'height', 'rowspan', 'width']
const dropped = new Set(['script', 'style', 'template', 'noscript', 'title', 'iframe', 'object', 'svg', 'math'])
const styleName = 'data-mail-style'

/** The parser would apply the policy to style attributes, and report each. */
function withInertStyles(html: string): string {
  return html
    .replace(/(<[^<>]*?\s)style(\s*=)/gi, `$1${styleName}$2`)
    .replace(/<\/?style\b[^>]*>/gi, (tag) => (tag.startsWith('</') ? '</template>' : '<template>'))
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
  if (!kept.has(name)) return copies(element)
  const copy = document.createElement(name)
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
  if (style !== null && !/url\s*\(|image-set/i.test(style)) copy.style.cssText = style
  copy.append(...copies(element))
  return [copy]
}

function placeholder(image: Element): Node {
  const copy = document.createElement('span')
  copy.textContent = `[picture: ${image.getAttribute('alt') || 'without a text'}]`
  return copy
}
