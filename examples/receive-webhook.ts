/** A receiver that checks signature and time. Run: WEBHOOK_SECRET=whsec_… npx tsx examples/receive-webhook.ts [port] */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DeliveryVerificationError, verifyDelivery } from 'mailkeep/receiver'

const secret = process.env.WEBHOOK_SECRET ?? ''
const seen = new Set<string>() // in production: a table, written in the same transaction as the effects of the event

const server = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  try {
    const event = verifyDelivery(request.headers, Buffer.concat(chunks), secret)
    const delivery = String(request.headers['x-service-delivery'])
    if (!seen.has(delivery)) process.stdout.write(`${event.type} ${JSON.stringify(event.data)}\n`)
    seen.add(delivery) // retries have the same id, so a delivery may arrive more than once
    response.writeHead(204).end()
  } catch (error) {
    if (!(error instanceof DeliveryVerificationError)) throw error
    process.stdout.write(`refused: ${error.code}\n`)
    response.writeHead(401).end()
  }
})

server.listen(Number(process.argv[2] ?? 8080), '127.0.0.1', () => {
  process.stdout.write(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
