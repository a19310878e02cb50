/**
 * Chat by Anthropic's Messages API.
 */
import type { Fields } from '../../../shared/platform/fields.ts'
import type { ChatRequest } from '../../../shared/requests/requests.ts'
import type { ChatAdapter, UpstreamContext } from '../adapter.ts'
import { canonicalFor } from '../canonical-chat.ts'
import type { AskedChat } from '../chat-adapter.ts'
import { chatAdapter } from '../chat-adapter.ts'
import { malformedAnswer } from '../failures.ts'
import type { Authorize, UpstreamHttp } from '../http.ts'
import { MessagesDecoder } from './decode-answer.ts'
import { Alphabet } from './names.ts'
import { PassedMessages, counted, passed } from './pass.ts'
import { outgoing } from './encode-request.ts'

/** The version whose rules this adapter follows; later ones refuse more. An upstream's `headers` may name another. */
const VERSION = '2023-06-01'

/** `x-api-key`, as Anthropic wants its key. */
export const anthropicKey: Authorize = (key) => ({ 'x-api-key': key })

/** The chat of every server that speaks the Messages API. */
export const createAnthropicChat = (http: UpstreamHttp): ChatAdapter => ({
  ...chatAdapter(http, 'messages', askedOf),
  count: async (request, context) => {
    const { path, ...rest } = post(counted(request, context.route), context)
    const { input_tokens: tokens } = await http.json({ ...rest, path: `${path}/count_tokens`, kind: 'chat' }, context)
    if (!Number.isSafeInteger(tokens) || Number(tokens) < 0) throw malformedAnswer('the answer is no count')
    return Number(tokens)
  },
})

/** What is sent, and what reads the answer: of its own dialect both pass as they came. */
function askedOf(request: ChatRequest, context: UpstreamContext, stream: boolean): AskedChat {
  const { json, translation } =
    context.dialect === 'messages'
      ? { json: passed(request, context.route, stream), translation: new PassedMessages() }
      : translating(request, context, stream)
  return { post: { ...post(json, context), kind: stream ? 'stream' : 'chat' }, translation }
}

function translating(request: ChatRequest, context: UpstreamContext, stream: boolean) {
  const names = { ids: new Alphabet(), tools: new Alphabet() }
  const { chat, translated } = canonicalFor(request, context)
  const json = outgoing(chat, context.route, stream, names)
  return { json, translation: translated(new MessagesDecoder(names.tools.back)) }
}

/** Base addresses are written with and without the version: Anthropic's own is without, as its SDK wants it. */
function post(json: Fields, { betas = [], route: { upstream } }: UpstreamContext) {
  const path = upstream.baseUrl.endsWith('/v1') ? '/messages' : '/v1/messages'
  const headers = { 'anthropic-version': VERSION, ...(betas.length > 0 && { 'anthropic-beta': betas.join(',') }) }
  return { method: 'POST', path, body: { json }, headers } as const
}
