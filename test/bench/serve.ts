/** The upper bounds, one process each: bare polka that echoes, and a bare undici loop. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import polka from 'polka'
import { Pool } from 'undici'
import { signedHeaders } from './signed.ts'

function serve(): void {
  const app = polka()
  app.get('/', (_, res) => res.end('hello'))
  app.post('/', echo)
  app.listen(0, '127.0.0.1', () => {
    process.send!({ port: (app.server!.address() as AddressInfo).port })
  })
}

function echo(req: IncomingMessage, res: ServerResponse): void {
  const chunks: Buffer[] = []
  req.on('data', (chunk: Buffer) => chunks.push(chunk))
  req.on('end', () => {
    const body = JSON.stringify(JSON.parse(Buffer.concat(chunks).toString()))
    res.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) })
    res.end(body)
  })
}

/** Keeps 64 requests of 1 KiB in flight, with the headers and signatures of a delivery if `signed`. */
function dispatch(origin: string, signed: boolean): void {
  const connections = 64
  const pool = new Pool(origin, { connections, pipelining: 1 })
  const body = 'x'.repeat(1024)
  const plain = { 'content-type': 'application/json' }
  const uuid = randomUUID()
  const handler = {
    onRequestStart() {},
    onResponseStart() {},
    onResponseData() {},
    onResponseEnd: send,
    onResponseError() {},
  }
  function send() {
    const headers = signed ? signedHeaders(uuid, body, Date.now()) : plain
    pool.dispatch({ method: 'POST', path: '/', headers, body }, handler)
  }
  for (let i = 0; i < connections; i++) send()
}

const [, , origin, signed] = process.argv
if (origin) dispatch(origin, signed === 'signed')
else serve()
process.on('disconnect', () => process.exit())
