import { createServer, type Server } from 'node:net'
import { Frames } from './frames.ts'

const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

/** Answers every request with 200 at once, and passes its body to `count`. */
export function receiver(count: (body: Buffer) => void): Server {
  return createServer((socket) => {
    const frames = new Frames((_, body) => {
      socket.write(answer, 'latin1')
      count(body)
    })
    socket.setNoDelay(true)
    socket.on('data', (chunk) => frames.push(chunk))
    socket.on('error', () => socket.destroy())
  })
}
