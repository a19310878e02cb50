/**
 * Chat by Anthropic's Messages API.
 */
import { canonicalChat } from '../../../shared/dialects/chat/canonical.ts'
import { ChunkEncoder } from '../../../shared/dialects/chat/chunks.ts'
import type { ChatRequest } from '../../../shared/requests/requests.ts'
import type { ChatAdapter, ChatEvent, UpstreamContext } from '../adapter.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import { withoutCustomTools } from '../custom-tools.ts'
import type { Authorize, UpstreamHttp } from '../http.ts'
import { chatEvents, collected, encoded } from '../translation.ts'
import { MessagesDecoder } from './events.ts'
import { Alphabet } from './names.ts'
import { outgoing } from './request.ts'

/** The version whose rules this adapter follows; later ones refuse more. An upstream's `headers` may name another. */
const VERSION = '2023-06-01'

/** `x-api-key`, as Anthropic wants its key. */
export const anthropicKey: Authorize = (key) => ({ 'x-api-key': key })

/** The chat of every server that speaks the Messages API. */
export function createAnthropicChat(http: UpstreamHttp): ChatAdapter {
  async function* ask(request: ChatRequest, context: UpstreamContext, stream: boolean): AsyncGenerator<ChatEvent> {
    const names = { ids: new Alphabet(), tools: new Alphabet() }
    const json = outgoing(canonicalChat(request), context.route, stream, names)
    const body = await http.body({ ...post(json, context), kind: stream ? 'stream' : 'chat' }, context)
    yield* chatEvents(body, encoded(new MessagesDecoder(names.tools.back), new ChunkEncoder()), context)
  }
  return withoutCustomTools({
    chat: (request, context) => collected(ask(request, context, false), http.maxAnswerBytes),
    streamChat: (request, context) => ask(request, context, true),
  })
}

/** Base addresses are written with and without the version: Anthropic's own is without, as its SDK wants it. */
function post(json: Fields, { route: { upstream } }: UpstreamContext) {
  const path = upstream.baseUrl.endsWith('/v1') ? '/messages' : '/v1/messages'
  return { method: 'POST', path, body: { json }, headers: { 'anthropic-version': VERSION } } as const
}
