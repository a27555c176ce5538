/** Pages on which contacts unsubscribe, choose lists and topics, and confirm. They are reached by signed links. */
import { isIP } from 'node:net'
import {
  type Caller,
  isMailkeepError,
  type LinkPurpose,
  type Mailkeep,
  MailkeepError,
  type OpenedLink,
  type PageSettings,
} from '../../lib/index.ts'
import { checkApiOptions, type ErrorLog, errorLogOf } from '../api/api-options.ts'
import { type ResponseContext, requestIdOf } from '../api/encode.ts'
import { methodNotAllowed, nothingHere, toPublicError } from '../api/errors.ts'
import { type ApiRequest, type ApiResponse, declaredBody, header } from '../api/http-types.ts'
import type { Respond, Surfaces } from '../api/index.ts'
import { readTarget } from '../api/target.ts'
import { confirmPage, unsubscribePage } from './button-pages.ts'
import { type Page, textsOf, type Visit } from './layout.ts'
import { preferencesPage } from './preferences.ts'
import { RateLimit } from './rate-limit.ts'
import { contentPage, emptyPage, errorPage, stylePage } from './responses.ts'
import { languageOf } from './texts.ts'

export interface ContactPagesOptions {
  readonly mailkeep: Mailkeep
  /** Log for unexpected errors. Default: the Mailkeep's logger, or the console if it has none. */
  readonly logger?: ErrorLog | undefined
  /**
   * Whether a proxy in front sets `X-Forwarded-For`. Its last address then counts as the contact's. Default false: every
   * sender could forge the header.
   */
  readonly trustProxy?: boolean | undefined
  /** The path the pages are mounted at, such as `/mail`. Needed when the host does not strip it from the URL. */
  readonly prefix?: string | undefined
}

/** The pages, for any HTTP server. */
interface ContactPagesSurface {
  readonly answer: Respond
  readonly surfaces: Surfaces
  readonly logger: ErrorLog
  /** @returns Whether the path belongs to the pages. */
  knows(target: string): boolean
}

const optionNames = Object.keys({
  mailkeep: true,
  logger: true,
  trustProxy: true,
  prefix: true,
} satisfies Record<keyof ContactPagesOptions, true>)

/** Maximum requests of one address. A person needs far fewer, and the database can answer as many. */
const requestsPerMinute = 300

/**
 * Maximum size of a form. One with the most lists and topics has a third of it. The links of mails open these pages, so
 * the requests that one address may send in a minute must leave most of the server's budget of bodies to others.
 */
const formBytes = 64 * 1024

const pages: Readonly<Record<LinkPurpose, { page: Page; source: Caller['source'] }>> = {
  unsubscribe: { page: unsubscribePage, source: 'unsubscribe_page' },
  preferences: { page: preferencesPage, source: 'preferences_page' },
  confirm: { page: confirmPage, source: 'confirmation_link' },
}

/** @throws MailkeepError `validation_failed`: no Mailkeep, or an unknown option. */
export function contactPages(options: ContactPagesOptions): ContactPagesSurface {
  checkApiOptions(options, optionNames)
  const { mailkeep, trustProxy = false } = options
  const logger = errorLogOf(mailkeep, options.logger)
  const state: PagesState = { mailkeep, trustProxy, rateLimit: new RateLimit(requestsPerMinute) }
  const answer: Respond = async (request) => {
    const context: ResponseContext = { requestId: requestIdOf(request), method: request.method, route: '/c/*' }
    try {
      return await answerPage(state, request, context)
    } catch (error) {
      return errorPage(request, context, toPublicError(error, context.requestId, logger))
    }
  }
  return {
    answer,
    surfaces: { '/c/*': answer },
    logger,
    knows: (target) => /^\/c(?:\/|$)/.test(readTarget(target).path),
  }
}

/** Replaces the texts that promise mail, which a suppressed address does not get. */
const noPromises: PageSettings['texts'] = { resubscribed_text: '', confirmed_text: '' }

interface PagesState {
  readonly mailkeep: Mailkeep
  readonly trustProxy: boolean
  readonly rateLimit: RateLimit
}

async function answerPage(state: PagesState, request: ApiRequest, context: ResponseContext): Promise<ApiResponse> {
  const { path } = readTarget(request.target)
  const [, style, colour] = /^\/c\/(style(?:-([\da-f]{6}))?\.css)$/.exec(path) ?? []
  const address = addressOf(state, request)
  if (!style) limitRate(state, address)
  if (!['GET', 'HEAD', 'POST'].includes(request.method)) {
    throw methodNotAllowed()
  }
  if (style && request.method !== 'POST') return stylePage(context, colour)
  const [, token = '', purpose] = /^\/c\/([\w-]+)\/(\w+)$/.exec(path) ?? []
  if (!isPurpose(purpose)) throw nothingHere()
  const link = await state.mailkeep.links.open(token, purpose)
  context.route = `/c/:token/${purpose}`
  const settings = await state.mailkeep.forClient(link.clientId).settings.pages.get()
  const language = settings.language ?? languageOf(header(request, 'accept-language') ?? '')
  const values = { email: link.contact.email, list: await listNameOf(state, link) }
  const say = textsOf(language, link.isSuppressed ? { ...settings.texts, ...noPromises } : settings.texts, values)
  const visitAs = (source: Caller['source'], opened = link): Visit => {
    const caller = { source, ip: address, userAgent: header(request, 'user-agent') }
    return { ...opened, client: state.mailkeep.forClient(opened.clientId, caller), say }
  }
  const { page, source } = pages[purpose]
  if (request.method !== 'POST') return contentPage(context, language, await page.show(visitAs(source)), settings)
  const form = await readForm(request)
  const isOneClick = purpose === 'unsubscribe' && /^one-click\s*$/i.test(String(form.get('List-Unsubscribe')))
  const actual = isOneClick ? 'one_click' : source
  const content = await page.submit(visitAs(actual), form).catch(async (error: unknown) => {
    if (!isMailkeepError(error, 'not_found')) throw error
    // The contact may have just been merged into another one, for which the link works.
    return page.submit(visitAs(actual, await state.mailkeep.links.open(token, purpose)), form)
  })
  // RFC 8058, 3.2: the sender of the request is a mail program, which shows nothing.
  if (isOneClick) return emptyPage(context)
  return contentPage(context, language, content, settings)
}

/** @throws MailkeepError `not_found`: the list to confirm was deleted. */
async function listNameOf({ mailkeep }: PagesState, { clientId, listId }: OpenedLink): Promise<string | undefined> {
  return listId === undefined ? undefined : (await mailkeep.forClient(clientId).lists.get(listId)).name
}

function isPurpose(name: string | undefined): name is LinkPurpose {
  return name !== undefined && Object.hasOwn(pages, name)
}

/** Returns the contact's address; undefined if the server does not know it. */
function addressOf({ trustProxy }: PagesState, request: ApiRequest): string | undefined {
  const forwarded = trustProxy ? forwardedAddress(header(request, 'x-forwarded-for')) : undefined
  const address = forwarded !== undefined && isIP(forwarded) !== 0 ? forwarded : request.address
  return address?.replace(/^::ffff:(?=\d+\.)/i, '')
}

/** Returns the last address, without a port and brackets: some proxies write `192.0.2.7:5678` and `[2001:db8::1]:443`. */
function forwardedAddress(forwarded: string | undefined): string | undefined {
  const last = forwarded?.split(',').at(-1)?.trim()
  return last?.replace(/^([\d.]+):\d+$|^\[(.+)\](?::\d+)?$/, '$1$2')
}

function limitRate({ rateLimit }: PagesState, address: string | undefined): void {
  const waitSeconds = address === undefined ? undefined : rateLimit.count(address)
  if (waitSeconds === undefined) return
  const limit = { limit: requestsPerMinute, remaining: 0, resetSeconds: waitSeconds }
  throw new MailkeepError('rate_limited', 'Too many requests.', { rateLimit: limit })
}

/** Reads a form, as browsers and mail programs send it. A body that is no form has no fields. */
async function readForm(request: ApiRequest): Promise<FormData> {
  const form = new FormData()
  if (declaredBody(request) === 'none') return form
  const bytes = Buffer.from(await request.body(formBytes))
  const type = header(request, 'content-type') ?? ''
  try {
    return await new Response(bytes, { headers: { 'Content-Type': type } }).formData()
  } catch {
    // RFC 8058's own example of a multipart form is malformed, and some mail programs follow it.
    if (oneClickInText.test(bytes.toString('latin1'))) form.set('List-Unsubscribe', 'One-Click')
    return form
  }
}

/** The bounded distance keeps the search linear. */
const oneClickInText = /List-Unsubscribe.{1,200}?One-Click/is
