import { setTimeout as delay } from 'node:timers/promises'
import { BoundedCache } from '../../bounded-cache.ts'
import { contactLink, type LinkedContact } from '../../consent/links.ts'
import type { Context } from '../../context.ts'
import { readJson } from '../../json.ts'
import type { ContentVariables, RenderedContent } from '../content.ts'
import { mailHeaders } from '../headers.ts'
import { getNewsletter } from '../newsletters.ts'
import { type Envelope, renderInTime, turnForTemplates } from '../sendable.ts'
import { listSteps } from '../step-queries.ts'
import type { MailMessage } from '../transport.ts'
import type { ClaimedMessage, Recipient } from './claim.ts'

const maxPreparedContents = 50
/** All prepared templates together. With many tags, one character takes 18 bytes. */
const maxPreparedCharacters = 3_000_000

/** Parsing and rendering block the process. After one that takes longer than this, the client's next message waits. */
const longRenderMs = 20
/** The wait, in times of the rendering: slow templates of a client take a fifth of the process's time. */
const waitPerRender = 4
/** Maximum time that all messages of a client wait in a row. Shorter than their leases, also with many connections. */
const maxWaitsMs = 30_000

/** Renders a prepared content. */
type Render = (variables: ContentVariables) => RenderedContent

/** Renders messages for their recipients. The templates of a newsletter or step are parsed once. */
export class Composer {
  readonly #ctx: Context
  #contents = new BoundedCache<string, Promise<Render>>(maxPreparedContents)
  #preparedCharacters = 0
  /** Clients whose templates took long, and when their next message may be rendered. */
  readonly #waits = new Map<number, Promise<void>>()

  constructor(ctx: Context) {
    this.#ctx = ctx
  }

  /** @throws MailkeepError The content cannot be rendered; the signal's reason once it is aborted. */
  async compose(task: ClaimedMessage, signal: AbortSignal): Promise<MailMessage> {
    const ctx = { ...this.#ctx, clientId: task.campaign.clientId }
    await this.#waits.get(ctx.clientId) // parsing may take long too
    const render = await this.#contentOf(ctx, task)
    const { uuid, campaign, contact, envelope } = task
    const variables = variablesOf(ctx, contact, readJson(contact.attributes), envelope.client)
    const content = await renderInTime(() => this.#render(ctx, render, variables, signal))
    return messageOf(ctx, content, variables, { uuid, campaign: `${campaign.kind}-${campaign.id}`, ...envelope })
  }

  /** Renders a content after the wait of its client. */
  async #render(
    ctx: Context,
    render: Render,
    variables: ContentVariables,
    signal: AbortSignal,
  ): Promise<RenderedContent> {
    while (this.#waits.has(ctx.clientId)) await this.#waits.get(ctx.clientId)
    signal.throwIfAborted()
    const startedMs = performance.now()
    try {
      return render(variables)
    } finally {
      this.#delayNext(ctx, performance.now() - startedMs)
    }
  }

  /** @param renderMs How long parsing or rendering took. */
  #delayNext({ clientId, local }: Context, renderMs: number): void {
    if (renderMs <= longRenderMs) return
    const waitMs = Math.min(renderMs * waitPerRender, maxWaitsMs / local.mail.settings.connections)
    const wait = delay(waitMs)
      .then(turnForTemplates) // so that the waits of two clients do not end at once
      .then(() => void this.#waits.delete(clientId))
    this.#waits.set(clientId, wait)
  }

  /** Newsletters do not change once they are sent; steps have a version. */
  async #contentOf(ctx: Context, { campaign, stepId, version }: ClaimedMessage): Promise<Render> {
    const key = `${campaign.kind} ${campaign.id} ${stepId} ${version}`
    try {
      return await this.#contents.get(key, () => this.#loadContent(ctx, campaign.id, stepId))
    } catch (error) {
      this.#contents.delete(key)
      throw error
    }
  }

  /** Parses the templates. It blocks the process as renderings do. */
  async #loadContent(ctx: Context, sourceId: number, stepId: number | null): Promise<Render> {
    const { prepareContent, render } = await import('../content.ts')
    const stored = await (stepId === null ? getNewsletter(ctx, sourceId) : getStep(ctx, sourceId, stepId))
    this.#makeRoom((stored.html?.length ?? 0) + (stored.text?.length ?? 0))
    const startedMs = performance.now()
    const content = prepareContent(stored)
    this.#delayNext(ctx, performance.now() - startedMs)
    return (variables) => render(content, variables)
  }

  /** Forgets all prepared contents if another one would make them too large. */
  #makeRoom(characters: number): void {
    this.#preparedCharacters += characters
    if (this.#preparedCharacters <= maxPreparedCharacters) return
    this.#contents = new BoundedCache(maxPreparedContents)
    this.#preparedCharacters = characters
  }
}

async function getStep(ctx: Context, sequenceId: number, stepId: number) {
  const step = (await listSteps(ctx, { sequence_id: sequenceId })).find(({ id }) => id === stepId)
  if (!step) throw new Error('The step was removed.')
  return step
}

/** The parts of a message beside its content. */
interface MessageParts extends Omit<Envelope, 'client'> {
  readonly uuid: string
  /** Name of the newsletter or sequence for the statistics of providers: `newsletter-1`. */
  readonly campaign: string
}

/** Returns a rendered message for the contact of `variables`. */
export function messageOf(
  { clientId }: Context,
  rendered: RenderedContent,
  variables: ContentVariables,
  { uuid, sender, replyTo, campaign }: MessageParts,
): MailMessage {
  const { contact, unsubscribe_url: unsubscribeUrl } = variables
  return {
    id: uuid,
    clientId,
    from: { name: sender.name, email: sender.email },
    to: { name: contact.name || null, email: contact.email },
    ...(replyTo === null ? {} : { replyTo }),
    ...rendered,
    headers: mailHeaders({ messageId: uuid, from: sender.email, clientId, campaign, unsubscribeUrl }),
  }
}

/** Returns what templates show in a message to a contact. */
export function variablesOf(
  ctx: Context,
  contact: LinkedContact & Pick<Recipient, 'name' | 'email'>,
  attributes: Readonly<Record<string, string>>,
  client: ContentVariables['client'],
): ContentVariables {
  return {
    contact: { name: contact.name, email: contact.email, attributes },
    unsubscribe_url: contactLink(ctx, contact, 'unsubscribe'),
    preferences_url: contactLink(ctx, contact, 'preferences'),
    client,
  }
}
