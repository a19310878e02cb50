/**
 * The fast upstream: one fixed chat completion, image or stream of chunks. It costs next to nothing, so that what is
 * measured is the gateway in front of it. A stream for a user `paced` comes in 20 chunks a second for ten seconds,
 * each of which has the time at which it was written. Prints its port.
 */
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

const completion = Buffer.from(
  JSON.stringify({
    id: 'chatcmpl-bench',
    object: 'chat.completion',
    created: 1_795_000_000,
    model: 'bench',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'The lighthouse keeper counts the waves. '.repeat(8) },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: { prompt_tokens: 20, completion_tokens: 80, total_tokens: 100 },
  }),
)

const CHUNK = { id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1_795_000_000, model: 'bench' }
const chunk = (fields: object) => `data: ${JSON.stringify({ ...CHUNK, ...fields })}\n\n`
const stream = Buffer.from(
  [
    chunk({ choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }] }),
    ...Array.from({ length: 8 }, () =>
      chunk({
        choices: [{ index: 0, delta: { content: 'The lighthouse keeper counts the waves. ' }, finish_reason: null }],
      }),
    ),
    chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
    chunk({ choices: [], usage: { prompt_tokens: 20, completion_tokens: 80, total_tokens: 100 } }),
    'data: [DONE]\n\n',
  ].join(''),
)

const image = Buffer.from(
  JSON.stringify({
    created: 1_795_000_000,
    data: [
      { b64_json: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==' },
    ],
  }),
)

/** Chunks of a paced stream, and the pause before each, in ms. */
const PACED = { chunks: 200, pauseMs: 50 }

function pace(response: ServerResponse): void {
  let left = PACED.chunks
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const ticks = setInterval(() => {
    if (left-- === 0) {
      clearInterval(ticks)
      const usage = { prompt_tokens: 20, completion_tokens: 80, total_tokens: 100 }
      const end = [chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }), chunk({ choices: [], usage })]
      response.end(`${end.join('')}data: [DONE]\n\n`)
      return
    }
    const content = `@${process.hrtime.bigint()}@`
    response.write(chunk({ choices: [{ index: 0, delta: { role: 'assistant', content }, finish_reason: null }] }))
  }, PACED.pauseMs)
}

const server = createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
  let [streamed, paced] = [false, false]
  request.on('data', (bytes: Buffer) => {
    streamed ||= bytes.includes('"stream":true')
    paced ||= bytes.includes('"user":"paced"')
  })
  request.on('end', () => {
    if (paced) pace(response)
    else if (request.url?.endsWith('/images/generations'))
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': image.length }).end(image)
    else if (streamed) response.writeHead(200, { 'content-type': 'text/event-stream' }).end(stream)
    else
      response
        .writeHead(200, { 'content-type': 'application/json', 'content-length': completion.length })
        .end(completion)
  })
})
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`))
