/** What loads a picture in a style. A backslash may hide its name: `u\72l(` is `url(`. */
const picture = /url\s*\(|image-set|\\/i

/** A rule that browsers ignore in such a sheet, with a warning. Each part may lack its end: the search stays linear. */
const importRule = /@import\b(?:"[^"]*"?|'[^']*'?|\([^)]*\)?|[^;"'(]+)*;?/gi

/** The type selector of the body, whose copy is a `div` with this attribute. */
const bodySelector = /(?<![-\w.#:[=])body(?![-\w])/gi
export const bodyAttribute = 'data-mail-body'

/** Levels of brackets that are parsed. Browsers crash when there are some thousand. */
const maxDepth = 50

/** Sets the style, unless it loads pictures. */
export function setStyle(copy: HTMLElement, style: string): void {
  if (!picture.test(style) && !isDeep(style)) copy.style.cssText = style
}

/**
 * Parses a style sheet of a mail. Only rules with selectors stay, without declarations that load pictures.
 *
 * @param element The style element as it is written.
 */
export function safeSheet(element: string): CSSStyleSheet {
  const start = element.slice(0, element.indexOf('>') + 1)
  const sheet = new CSSStyleSheet({ media: /\smedia\s*=\s*["']?([^"'>]*)/i.exec(start)?.[1] ?? '' })
  const css = element.slice(start.length).replace(/<\/style[\s\S]*/i, '')
  if (isDeep(css)) return sheet
  sheet.replaceSync(css.replace(importRule, ''))
  clean(sheet)
  return sheet
}

function isDeep(css: string): boolean {
  let depth = 0
  for (const [bracket] of css.matchAll(/[([{}\])]/g)) {
    depth += '([{'.includes(bracket) ? 1 : -1
    if (depth > maxDepth) return true
  }
  return false
}

function clean(group: CSSStyleSheet | CSSGroupingRule | CSSStyleRule): void {
  for (let n = group.cssRules.length - 1; n >= 0; n--) {
    const rule = group.cssRules[n]
    if (rule instanceof CSSMediaRule || rule instanceof CSSSupportsRule) clean(rule)
    else if (rule instanceof CSSStyleRule) cleanStyle(rule)
    else group.deleteRule(n)
  }
}

function cleanStyle(rule: CSSStyleRule): void {
  for (const name of [...rule.style]) {
    if (picture.test(rule.style.getPropertyValue(name))) rule.style.removeProperty(name)
  }
  rule.selectorText = rule.selectorText.replace(bodySelector, `[${bodyAttribute}]`)
  clean(rule)
}
