/**
 * An upstream of every chat protocol that bills as much as possible: a token for every four bytes of the request, a
 * number for every image, and all the output that it was allowed.
 */
import { createServer } from 'node:http'
import { listening } from '../../workers/fetching/servers.ts'
import type { Listening } from '../../workers/fetching/servers.ts'

type Fields = Record<string, unknown>

/** The billed tokens of a request, and its body. */
export type Bill = { input: number; output: number; body: Fields }

/**
 * Bytes that the gateway itself adds to a request: the upstream's name of the model, the limit of the output, the
 * option for a stream's usage, and the longer words of the other protocol. They are not billed here.
 */
const OWN_BYTES = 160

/** The tokens of an image, and its bytes in these tests, which do not count as text. */
const IMAGE_TOKENS = 1500
export const IMAGE_BYTES = 'iVBORw0KGgoA'.repeat(300)

const IMAGES: ReadonlySet<unknown> = new Set(['image_url', 'image', 'input_image'])

/**
 * The images of a request, in the places of either protocol: parts of messages and of tool results.
 */
function imagesOf(body: Fields): Fields[] {
  const turns = body.messages ?? (Array.isArray(body.input) ? body.input : [])
  const parts = (turns as Fields[]).flatMap(({ content }) => (Array.isArray(content) ? (content as Fields[]) : []))
  const results = parts.flatMap(({ type, content }) =>
    type === 'tool_result' && Array.isArray(content) ? (content as Fields[]) : [],
  )
  const system = Array.isArray(body.system) ? (body.system as Fields[]) : []
  return [...parts, ...results, ...system].filter(({ type }) => IMAGES.has(type))
}

/**
 * The bytes of a picture that stands in its part, for which its own tokens are billed: those of its `data:` URI. The
 * part counts as text as it is in OpenAI's protocol: the other one says the same in more words.
 */
function pictureBytes(part: Fields): number {
  const written = JSON.stringify(part)
  if (!written.includes(IMAGE_BYTES)) return 0
  const { source, image_url: image, ...rest } = part
  const without = source || typeof image === 'object' ? { ...(image as Fields | undefined), url: '' } : ''
  const words = JSON.stringify({ ...rest, type: 'image_url', image_url: without })
  return Buffer.byteLength(written) - Buffer.byteLength(words)
}

function billOf(text: string, body: Fields): Bill {
  const images = imagesOf(body)
  const pictures = images.reduce((sum, image) => sum + pictureBytes(image), 0)
  const bytes = Buffer.byteLength(text) - pictures - OWN_BYTES
  const limit = Number(body.max_tokens ?? body.max_completion_tokens ?? body.max_output_tokens)
  return {
    input: Math.ceil(Math.max(0, bytes) / 4) + images.length * IMAGE_TOKENS,
    output: limit * Number(body.n ?? 1),
    body,
  }
}

const lines = (...events: Fields[]): string =>
  events.map((event) => `event: ${String(event.type)}\ndata: ${JSON.stringify(event)}\n\n`).join('')

function openaiAnswer({ input, output }: Bill, stream: boolean): string {
  const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
  if (!stream)
    return JSON.stringify({
      id: 'c',
      choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
      usage,
    })
  const choice = { index: 0, delta: { content: 'x' }, finish_reason: 'stop' }
  return `${lines({ choices: [choice] }, { choices: [], usage })}data: [DONE]\n\n`
}

function anthropicAnswer({ input, output }: Bill, stream: boolean): string {
  const usage = { input_tokens: input, output_tokens: output }
  const block = { type: 'text', text: 'x' }
  const message = {
    id: 'm',
    type: 'message',
    role: 'assistant',
    content: stream ? [] : [block],
    stop_reason: stream ? null : 'end_turn',
    usage,
  }
  if (!stream) return JSON.stringify(message)
  return lines(
    { type: 'message_start', message },
    { type: 'content_block_start', index: 0, content_block: block },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: output } },
    { type: 'message_stop' },
  )
}

function responsesAnswer({ input, output }: Bill, stream: boolean): string {
  const usage = { input_tokens: input, output_tokens: output, total_tokens: input + output }
  const item = { type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: 'x' }] }
  const response = { id: 'resp_1', object: 'response', status: 'completed', output: [item], usage }
  return stream ? lines({ type: 'response.completed', response }) : JSON.stringify(response)
}

const answerOf = (url: string) =>
  url.endsWith('/messages') ? anthropicAnswer : url.endsWith('/responses') ? responsesAnswer : openaiAnswer

/** Starts it. `bills` are those of the requests since they were last taken. */
export async function startBilling(): Promise<Listening & { takeBills: () => Bill[] }> {
  let bills: Bill[] = []
  const server = createServer((request, response) => {
    const pieces: Buffer[] = []
    request
      .on('data', (piece: Buffer) => pieces.push(piece))
      .on('end', () => {
        const text = Buffer.concat(pieces).toString()
        const body = JSON.parse(text) as Fields
        const bill = billOf(text, body)
        bills.push(bill)
        const stream = body.stream === true
        response.setHeader('content-type', stream ? 'text/event-stream' : 'application/json')
        response.end(answerOf(request.url!)(bill, stream))
      })
  })
  const open = await listening(server)
  return {
    ...open,
    takeBills: () => {
      const taken = bills
      bills = []
      return taken
    },
  }
}
