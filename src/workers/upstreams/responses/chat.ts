/**
 * Chat by OpenAI's Responses API.
 */
import { grammarOf } from '../../../shared/dialects/dialect.ts'
import { NO_SEAL } from '../../../shared/dialects/seal.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import type { ChatRequest } from '../../../shared/requests/requests.ts'
import type { ChatAdapter, ChatEvent, UpstreamContext } from '../adapter.ts'
import { applyRules } from '../body-rules.ts'
import { canonicalFor } from '../canonical-chat.ts'
import type { UpstreamHttp } from '../http.ts'
import type { Translation } from '../translation.ts'
import { chatEvents, collected } from '../translation.ts'
import { ResponsesDecoder } from './events.ts'
import { PassedResponses, passed } from './pass.ts'
import { bodyOf } from './request.ts'

/** The chat of every server that speaks the Responses API. */
export function createResponsesChat(http: UpstreamHttp): ChatAdapter {
  async function* ask(request: ChatRequest, context: UpstreamContext, stream: boolean): AsyncGenerator<ChatEvent> {
    const { asked, translation } = askedOf(request, context)
    const post = { method: 'POST', path: '/responses', body: { json: outgoing(asked, context, stream) } } as const
    const body = await http.body({ ...post, kind: stream ? 'stream' : 'chat' }, context)
    yield* chatEvents(body, translation, context)
  }
  return {
    chat: (request, context) =>
      collected(ask(request, context, false), grammarOf(context.dialect).answers, http.maxAnswerBytes),
    streamChat: (request, context) => ask(request, context, true),
  }
}

/** What is asked, and what reads the answer: of its own dialect both pass nearly as they came. */
function askedOf(request: ChatRequest, context: UpstreamContext): { asked: Fields; translation: Translation } {
  const { dialect, route, callId, seal: { seal, open } = NO_SEAL } = context
  if (dialect === 'responses')
    return { asked: passed(request, route, open), translation: new PassedResponses({ request, callId, seal }) }
  const { chat, translated } = canonicalFor(request, context)
  return { asked: bodyOf(chat), translation: translated(new ResponsesDecoder()) }
}

/** The body that is sent: nothing is kept at the upstream, and nothing is faster for a surcharge. */
const outgoing = (asked: Fields, { route }: UpstreamContext, stream: boolean): Fields =>
  applyRules({ service_tier: 'default', ...asked, model: route.model, store: false, stream }, route)
