/**
 * The least that a stream through Node costs: a server that passes the bytes of its upstream's answer on as they come.
 * Takes the port of its upstream as its argument; prints its own.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Pool } from 'undici'

const pool = new Pool(`http://127.0.0.1:${process.argv[2]}`, { connections: 2000 })
const server = createServer((request, response) => {
  const answer = pool.stream(
    { method: 'POST', path: '/v1/chat/completions', body: request, headers: { 'content-type': 'application/json' } },
    ({ statusCode }) => response.writeHead(statusCode, { 'content-type': 'text/event-stream' }),
  )
  answer.catch(() => response.destroy())
})
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`))
