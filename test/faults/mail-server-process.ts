/** The process of the SMTP server. All scenes of a test process share it. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Accepted, MailServerAnswer, MailServerOrder } from './mail-server.ts'

let shared: Promise<MailServerProcess> | undefined

export function sharedMailServer(): Promise<MailServerProcess> {
  shared ??= MailServerProcess.start()
  return shared
}

export class MailServerProcess {
  readonly port: number
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, port: number) {
    this.#child = child
    this.port = port
    child.setMaxListeners(0)
  }

  /** It ends with this process. */
  static async start(): Promise<MailServerProcess> {
    const child = fork(new URL('mail-server.ts', import.meta.url), { execArgv: ['--import', 'tsx'] })
    const [{ port }] = await once(child, 'message')
    child.unref()
    child.channel!.unref()
    return new MailServerProcess(child, port)
  }

  order(next: MailServerOrder): void {
    this.#child.send(next)
  }

  /** Resolves when the server has accepted the message that it does not answer. */
  async held(domain: string): Promise<void> {
    await this.#answer((answer) => 'held' in answer && answer.domain === domain)
  }

  async report(domain: string): Promise<Accepted> {
    const answered = this.#answer((answer) => 'accepted' in answer && answer.domain === domain)
    this.order({ domain, report: true })
    return ((await answered) as { readonly accepted: Accepted }).accepted
  }

  #answer(isWanted: (answer: MailServerAnswer) => boolean): Promise<MailServerAnswer> {
    this.#child.channel!.ref()
    return new Promise((resolve) => {
      const listener = (answer: MailServerAnswer) => {
        if (!isWanted(answer)) return
        this.#child.off('message', listener)
        if (this.#child.listenerCount('message') === 0) this.#child.channel!.unref()
        resolve(answer)
      }
      this.#child.on('message', listener)
    })
  }
}
