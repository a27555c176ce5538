import { escapeHtml } from '../../lib/internal.ts'

/** Escaped HTML. Only this file makes it. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type HtmlValue = Html | string | number | undefined | readonly HtmlValue[]

/** Template tag: escapes every value that is not HTML itself. Lists are joined, and undefined is left out. */
export function html(parts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(parts.map((part, at) => part + render(values[at])).join(''))
}

/** Returns the text without its elements, for `title`, which has none. */
export function withoutTags({ text }: Html): Html {
  return new Html(text.replace(/<[^>]*>/g, ''))
}

function render(value: HtmlValue): string {
  if (value === undefined) return ''
  if (value instanceof Html) return value.text
  if (typeof value === 'object') return value.map(render).join('')
  return escapeHtml(String(value))
}
