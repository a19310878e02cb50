/**
 * Chat by Anthropic's Messages API.
 */
import { grammarOf } from '../../../shared/dialects/dialect.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import type { ChatRequest } from '../../../shared/requests/requests.ts'
import type { ChatAdapter, ChatEvent, UpstreamContext } from '../adapter.ts'
import { canonicalFor } from '../canonical-chat.ts'
import type { Authorize, UpstreamHttp } from '../http.ts'
import type { Translation } from '../translation.ts'
import { chatEvents, collected } from '../translation.ts'
import { MessagesDecoder } from './events.ts'
import { Alphabet } from './names.ts'
import { PassedMessages, passed } from './pass.ts'
import { outgoing } from './request.ts'

/** The version whose rules this adapter follows; later ones refuse more. An upstream's `headers` may name another. */
const VERSION = '2023-06-01'

/** `x-api-key`, as Anthropic wants its key. */
export const anthropicKey: Authorize = (key) => ({ 'x-api-key': key })

/** The chat of every server that speaks the Messages API. */
export function createAnthropicChat(http: UpstreamHttp): ChatAdapter {
  async function* ask(request: ChatRequest, context: UpstreamContext, stream: boolean): AsyncGenerator<ChatEvent> {
    const { json, translation } = askedOf(request, context, stream)
    const body = await http.body({ ...post(json, context), kind: stream ? 'stream' : 'chat' }, context)
    yield* chatEvents(body, translation, context)
  }
  return {
    chat: (request, context) =>
      collected(ask(request, context, false), grammarOf(context.dialect).answers, http.maxAnswerBytes),
    streamChat: (request, context) => ask(request, context, true),
  }
}

/** What is sent, and what reads the answer: of its own dialect both pass as they came. */
function askedOf(
  request: ChatRequest,
  context: UpstreamContext,
  stream: boolean,
): { json: Fields; translation: Translation } {
  const { route, dialect } = context
  if (dialect === 'messages') return { json: passed(request, route, stream), translation: new PassedMessages() }
  const names = { ids: new Alphabet(), tools: new Alphabet() }
  const { chat, translated } = canonicalFor(request, context)
  const json = outgoing(chat, route, stream, names)
  return { json, translation: translated(new MessagesDecoder(names.tools.back)) }
}

/** Base addresses are written with and without the version: Anthropic's own is without, as its SDK wants it. */
function post(json: Fields, { betas = [], route: { upstream } }: UpstreamContext) {
  const path = upstream.baseUrl.endsWith('/v1') ? '/messages' : '/v1/messages'
  const headers = { 'anthropic-version': VERSION, ...(betas.length > 0 && { 'anthropic-beta': betas.join(',') }) }
  return { method: 'POST', path, body: { json }, headers } as const
}
