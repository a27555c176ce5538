import type { Context } from './context.ts'
import { Housekeeping } from './housekeeping.ts'
import { confirmationSubscriber, mailConfirmation } from './sending/confirming.ts'
import { Mailer } from './sending/dispatch/mailer.ts'
import { nextStartMs } from './sending/jobs.ts'
import { earliest } from './time.ts'
import { Dispatcher } from './webhooks/dispatch/dispatcher.ts'
import type { EventHandler } from './webhooks/handlers/handlers.ts'
import type { Sender } from './webhooks/http/send.ts'

/** The background work of a process: webhooks, mail and stored jobs. */
export class Background {
  readonly dispatcher: Dispatcher
  readonly mailer: Mailer
  readonly housekeeping: Housekeeping
  readonly #ctx: Context
  #stopListening: (() => void) | undefined
  #isStopped = false

  constructor(ctx: Context, sender: Sender) {
    this.#ctx = ctx
    this.dispatcher = new Dispatcher(ctx, sender)
    this.mailer = new Mailer(ctx)
    if (ctx.local.mail.settings.transport) {
      this.dispatcher.handlers.addOwn(confirmationSubscriber, mailConfirmation(ctx) as EventHandler, {
        allow: (due) => this.mailer.allowConfirmations(due),
        claim: (tx, limit) => this.mailer.claimConfirmations(tx, limit),
      })
    }
    this.housekeeping = new Housekeeping(ctx)
  }

  /** @param dispatch Whether to send webhooks and mail too. */
  start(dispatch: boolean): void {
    if (this.#stopListening) return
    this.housekeeping.start(dispatch)
    if (!dispatch) return
    this.dispatcher.loop.start()
    this.mailer.loop.start()
    this.#stopListening = this.#ctx.storage.changes.subscribe(() => {
      this.dispatcher.loop.wake()
      this.mailer.loop.wake()
    })
  }

  /** Does all that is due. @returns When something else is due, in milliseconds since 1970; undefined when nothing waits. */
  async finishDue(signal: AbortSignal | undefined): Promise<number | undefined> {
    for (;;) {
      await this.housekeeping.finish(signal)
      const mailMs = await this.mailer.loop.finishDue(signal) // raises events
      // Handlers have no timeout.
      const webhookMs = await this.dispatcher.loop.finishDue(signal, ({ kind }) => kind === 'handler')
      const nextMs = earliest([mailMs, webhookMs, await nextStartMs(this.#ctx)])
      // A handler may have started a newsletter.
      if (nextMs === undefined || nextMs > this.#ctx.clock() || this.#isStopped) return nextMs
    }
  }

  /**
   * Waits for what is under way, and aborts attempts after `timeoutMs`.
   *
   * @throws What the host's transport or sender threw while it was closed. The rest has stopped then.
   */
  async stop(timeoutMs: number): Promise<void> {
    this.#isStopped = true
    this.#stopListening?.()
    const loops = [this.dispatcher.loop, this.mailer.loop]
    const stops = [...loops.map((loop) => loop.stop(timeoutMs)), this.housekeeping.stop()]
    await Promise.allSettled(stops)
    await Promise.all(stops)
  }
}
