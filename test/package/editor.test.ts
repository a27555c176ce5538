import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'

const root = join(import.meta.dirname, '../..')

type Message = { id?: number; method?: string; params?: { items: unknown[] }; result?: unknown }

/** Starts TypeScript's language server, as editors do. */
function languageServer() {
  const child = spawn(join(root, 'node_modules/.bin/tsc'), ['--lsp', '--stdio'], { cwd: root })
  const waiting = new Map<number, (result: unknown) => void>()
  let received = Buffer.alloc(0)
  const send = (message: object) => {
    const text = JSON.stringify({ jsonrpc: '2.0', ...message })
    child.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`)
  }
  const take = ({ id, method, params, result }: Message) => {
    if (id === undefined) return
    if (method) send({ id, result: method === 'workspace/configuration' ? params!.items.map(() => null) : null })
    else waiting.get(id)?.(result)
  }
  child.stdout.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk])
    for (;;) {
      const head = /^Content-Length: (\d+)[\s\S]*?\r\n\r\n/.exec(received.subarray(0, 200).toString('latin1'))
      const end = head ? head[0].length + Number(head[1]) : Number.POSITIVE_INFINITY
      if (!head || received.length < end) return
      take(JSON.parse(received.subarray(head[0].length, end).toString()))
      received = received.subarray(end)
    }
  })
  const ask = <T>(method: string, params: object) =>
    new Promise<T>((resolve) => {
      const id = waiting.size + 1
      waiting.set(id, resolve as (result: unknown) => void)
      send({ id, method, params })
    })
  return { ask, tell: (method: string, params: object) => send({ method, params }), stop: () => child.kill() }
}

/** Opens a file of these lines in the editor. `hover` is what it shows at the end of the name on the last one. */
async function openFile(t: TestContext, name: string, lines: readonly string[]) {
  const { ask, tell, stop } = languageServer()
  t.after(stop)
  await ask('initialize', { processId: null, rootUri: pathToFileURL(root).href, capabilities: {} })
  tell('initialized', {})
  const uri = pathToFileURL(join(root, 'test', name)).href
  tell('textDocument/didOpen', { textDocument: { uri, languageId: 'typescript', version: 1, text: lines.join('\n') } })
  const end = { line: lines.length - 1, character: lines.at(-1)!.length }
  const at = { textDocument: { uri }, position: { ...end, character: end.character - 2 } }
  const hover = await ask<{ contents: { value: string } }>('textDocument/hover', at)
  return { hover: hover.contents.value, askAtEnd: <T>(method: string) => ask<T>(method, { ...at, position: end }) }
}

test('the editor shows an operation’s docstring with its errors and parameters, through the public entry point', {
  timeout: 120_000,
}, async (t) => {
  const { hover, askAtEnd } = await openFile(t, 'a-host.ts', [
    "import type { Mailkeep } from 'mailkeep'",
    'declare const mailkeep: Mailkeep',
    'mailkeep.forClient(1).contacts.addToList(',
  ])
  assert.match(hover, /input: ContactInput|input: .*\.ContactInput/)
  assert.match(hover, /Adds a contact to a list/)
  assert.match(hover, /@throws.*`not_found`.*`validation_failed`/s)
  const help = await askAtEnd<{ signatures: unknown[] }>('textDocument/signatureHelp')
  assert.match(JSON.stringify(help.signatures), /Fields besides `email`, `name`, `tags` and `confirmed` are attributes/)
})

test('the editor shows what a method of the client does', { timeout: 120_000 }, async (t) => {
  const { hover } = await openFile(t, 'an-api-client.ts', [
    "import type { Client } from 'mailkeep/client'",
    'declare const client: Client',
    'client.contacts.addToList',
  ])
  assert.match(hover, /Create or match a contact, and add it to a list\. Tags are added/)
})
