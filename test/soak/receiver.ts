/**
 * Webhook receivers that succeed, fail, hang and reset, as happens over years; the parent kills the process now and
 * then.
 */
import { createServer } from 'node:http'

const port = Number(process.argv[2])

createServer((request, response) => {
  request.resume()
  switch (request.url) {
    case '/fail':
      response.writeHead(500).end('no')
      return
    case '/hang':
      return
    case '/reset':
      request.socket.resetAndDestroy()
      return
    case '/slow':
      setTimeout(() => response.writeHead(200).end(), 200)
      return
    case '/busy':
      response.writeHead(503, { 'Retry-After': '2' }).end()
      return
    default:
      response.writeHead(200).end('ok')
  }
}).listen(port, '127.0.0.1', () => process.send?.('ready'))
process.on('disconnect', () => process.exit())
