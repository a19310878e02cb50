/** A chat upstream whose chunks say when they left it. */
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'

/** Unix ms with fractions: comparable between the processes of one machine. */
export const clock = (): number => performance.timeOrigin + performance.now()

/** The prompt that makes this upstream write so many chunks, one every so many ms. */
export const ticks = (chunks: number, everyMs: number): string => `ticks ${chunks} ${everyMs}`

export type Ticking = { port: number; close: () => Promise<void> }

/** Starts the upstream on a free port. */
export async function startTicking(): Promise<Ticking> {
  const server = createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
    let body = ''
    request
      .setEncoding('utf8')
      .on('data', (piece: string) => {
        body += piece
      })
      .on('end', () => {
        const [, chunks, everyMs] = /ticks (\d+) (\d+)/.exec(body) ?? []
        tick(response, Number(chunks), Number(everyMs))
      })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function tick(response: ServerResponse, chunks: number, everyMs: number): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const send = (value: object): void =>
    void response.write(
      `data: ${JSON.stringify({ id: 'tick', object: 'chat.completion.chunk', created: 1, ...value })}\n\n`,
    )
  let sent = 0
  const timer = setInterval(() => {
    if (sent++ < chunks)
      return send({ choices: [{ index: 0, delta: { content: `${clock()} ` }, finish_reason: null }] })
    clearInterval(timer)
    send({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })
    send({ choices: [], usage: { prompt_tokens: 10, completion_tokens: chunks, total_tokens: 10 + chunks } })
    response.end('data: [DONE]\n\n')
  }, everyMs)
  response.once('close', () => clearInterval(timer))
}
