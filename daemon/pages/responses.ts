import type { MailkeepError, PageLanguage, PageSettings } from '../../lib/index.ts'
import { encode, type ResponseContext } from '../api/encode.ts'
import { errorHeaders, statusOf } from '../api/errors.ts'
import { type ApiRequest, type ApiResponse, header } from '../api/http-types.ts'
import { readTarget } from '../api/target.ts'
import { html } from './html.ts'
import { type Content, layout, paragraph, textsOf } from './layout.ts'
import { styleSheet } from './style.ts'
import { languageOf, type TextName } from './texts.ts'

export function stylePage(context: ResponseContext, colour: string | undefined): ApiResponse {
  context.route = '/c/style.css'
  const css = styleSheet(colour === undefined ? undefined : `#${colour}`)
  return encode(context, 200, css, {
    'Content-Type': 'text/css; charset=utf-8',
    'Cache-Control': 'public, max-age=3600',
  })
}

const usual = { status: 200, headers: {}, root: '../' }

export function contentPage(
  context: ResponseContext,
  language: PageLanguage,
  content: Content,
  settings: PageSettings | undefined,
  { status, headers, root }: Pick<ApiResponse, 'status' | 'headers'> & { readonly root: string } = usual,
): ApiResponse {
  return encode(context, status, layout(language, content, settings, root), {
    ...pageHeaders(settings),
    'Content-Type': 'text/html; charset=utf-8',
    Vary: 'Accept-Language',
    ...headers,
  })
}

/** The page of an error is the same for every reason of the error. */
export function errorPage(request: ApiRequest, context: ResponseContext, error: MailkeepError): ApiResponse {
  const language = languageOf(header(request, 'accept-language') ?? '')
  const say = textsOf(language)
  const [title, text]: [TextName, TextName] =
    error.code === 'not_found'
      ? ['broken_link_title', 'broken_link_text']
      : error.code === 'rate_limited'
        ? ['too_many_title', 'too_many_text']
        : ['failed_title', 'failed_text']
  const content = { title: say(title), body: html`${paragraph(say(text))}` }
  const allow = error.code === 'method_not_allowed' ? { Allow: 'GET, HEAD, POST' } : {}
  return contentPage(context, language, content, undefined, {
    status: statusOf[error.code],
    headers: { ...errorHeaders(error), ...allow },
    root: rootFrom(readTarget(request.target).path),
  })
}

/** Returns the relative path to `/c/`, because the pages may be mounted anywhere. A link that was cut short is less deep. */
function rootFrom(path: string): string {
  return '../'.repeat(Math.max(0, path.split('/').length - 3))
}

/** Answers a mail program, which shows nothing. */
export function emptyPage(context: ResponseContext): ApiResponse {
  return { ...encode(context, 200, undefined, { ...pageHeaders(), 'Content-Length': '0' }), body: '' }
}

function pageHeaders(settings?: PageSettings): Record<string, string> {
  const image = settings?.logo_url ? `; img-src ${new URL(settings.logo_url).origin}` : ''
  return {
    'Content-Security-Policy': `default-src 'none'; style-src 'self'; form-action 'self'${image}`,
    'Referrer-Policy': 'no-referrer',
    'X-Robots-Tag': 'noindex',
  }
}
