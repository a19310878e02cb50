import { createServer } from 'node:http'
import type { IncomingHttpHeaders, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** One delivery, as its bytes came in. */
export interface Hooked {
  readonly headers: IncomingHttpHeaders
  readonly payload: string
}

/** An endpoint for events that answers with the statuses that it is given, and 200 after the last of them. */
export async function startHook(): Promise<{
  readonly url: string
  readonly received: Hooked[]
  readonly answers: number[]
  readonly close: () => void
}> {
  const received: Hooked[] = []
  const answers: number[] = []
  const server: Server = createServer((req, res) => {
    void buffer(req).then((bytes) => {
      received.push({ headers: req.headers, payload: bytes.toString('utf8') })
      res.writeHead(answers.shift() ?? 200).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/hooks`, received, answers, close: () => void server.close() }
}
