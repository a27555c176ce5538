import type { ClientOperations, Contact, PageLanguage, PageSettings } from '../../lib/index.ts'
import { type Html, html, withoutTags } from './html.ts'
import { builtInTexts, type TextName } from './texts.ts'

/** The content of a page below the sender. */
export interface Content {
  readonly title: Html
  readonly body: Html
}

/** Returns a text in the page's language. */
export type Say = (name: TextName) => Html

/** A valid link that was opened. */
export interface Visit {
  readonly contact: Contact
  /** The list to confirm, on the page to confirm. */
  readonly listId: number | undefined
  /** The operations of the contact's client. Their changes are recorded as the contact's own. */
  readonly client: ClientOperations
  readonly say: Say
}

/** A page of a contact. */
export interface Page {
  /** Answers GET. Changes nothing, because mail scanners follow links. */
  show(visit: Visit): Promise<Content>
  /** Answers POST. */
  submit(visit: Visit, form: FormData): Promise<Content>
}

/**
 * @param own The client's own texts. They replace the built-in ones.
 * @param values Replace `{email}`, and on the page to confirm `{list}`. Each has a text direction of its own.
 */
export function textsOf(
  language: PageLanguage,
  own: PageSettings['texts'] = {},
  values: { readonly email?: string; readonly list?: string | undefined } = {},
): Say {
  const texts: Readonly<Record<string, string>> = { ...builtInTexts[language], ...own }
  return (name) => {
    const parts = texts[name]!.split(/(\{email\}|\{list\})/)
    return html`${parts.map((part) => {
      const value = part === '{email}' ? values.email : part === '{list}' ? values.list : undefined
      return value === undefined ? part : html`<bdi>${value}</bdi>`
    })}`
  }
}

/**
 * Returns a whole page. Texts and names have `dir="auto"`, because those of the client may run from right to left.
 *
 * @param root Relative path from the page's URL to `/c/`: `../`.
 */
export function layout(
  language: PageLanguage,
  { title, body }: Content,
  settings: PageSettings | undefined,
  root: string,
): string {
  const { name, logo_url, colour } = settings ?? { name: null, logo_url: null, colour: null }
  const style = colour === null ? 'style.css' : `style-${colour.slice(1)}.css`
  // Without a name, the image's text is empty: it is decoration.
  const logo = logo_url === null ? undefined : html`<img src="${logo_url}" alt="">`
  const sender =
    name === null && logo === undefined ? undefined : html`<div class="sender" dir="auto">${logo}${name ?? ''}</div>\n`
  return html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${withoutTags(name === null ? title : html`${title} · ${name}`)}</title>
<link rel="stylesheet" href="${root}${style}">
</head>
<body>
<main>
${sender}<h1 dir="auto">${title}</h1>
${body}
</main>
</body>
</html>
`.text
}

/** Returns a text as a paragraph; nothing for an empty one. */
export function paragraph(text: Html, kind?: 'hint' | 'apart'): Html | undefined {
  if (text.text === '') return undefined
  return kind === undefined ? html`<p dir="auto">${text}</p>\n` : html`<p class="${kind}" dir="auto">${text}</p>\n`
}

/** Returns a message about what was just done. Screen readers announce it. */
export function notice(text: Html): Html | undefined {
  return text.text === '' ? undefined : html`<p class="notice" role="status" dir="auto">${text}</p>\n`
}

/** Returns a form with one button. */
export function buttonForm(action: string, label: Html, kind?: 'plain'): Html {
  return html`<form method="post"><button name="action" value="${action}" class="${kind ?? ''}" dir="auto">${label}</button></form>
`
}
