/**
 * Chat by OpenAI's Responses API.
 */
import { NO_SEAL } from '../../../shared/chat/seal.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import type { ChatRequest } from '../../../shared/requests/requests.ts'
import type { ChatAdapter, UpstreamContext } from '../adapter.ts'
import { applyRules } from '../body-rules.ts'
import { canonicalFor } from '../canonical-chat.ts'
import type { AskedChat } from '../chat-adapter.ts'
import { chatAdapter } from '../chat-adapter.ts'
import type { UpstreamHttp } from '../http.ts'
import type { Translation } from '../translation.ts'
import { ResponsesDecoder } from './decode-answer.ts'
import { PassedResponses, passed } from './pass.ts'
import { bodyOf } from './encode-request.ts'

/** The chat of every server that speaks the Responses API. */
export const createResponsesChat = (http: UpstreamHttp): ChatAdapter => chatAdapter(http, 'responses', askedOf)

/** What is sent, and what reads the answer: of its own dialect both pass nearly as they came. */
function askedOf(request: ChatRequest, context: UpstreamContext, stream: boolean): AskedChat {
  const { asked, translation } = isOwn(context) ? passing(request, context) : translating(request, context)
  const body = { json: outgoing(asked, context, stream) }
  return { post: { method: 'POST', path: '/responses', body, kind: stream ? 'stream' : 'chat' }, translation }
}

const isOwn = ({ dialect }: UpstreamContext): boolean => dialect === 'responses'

type Asked = { asked: Fields; translation: Translation }

function passing(request: ChatRequest, { route, callId, seal: { seal, open } = NO_SEAL }: UpstreamContext): Asked {
  return { asked: passed(request, route, open), translation: new PassedResponses({ request, callId, seal }) }
}

function translating(request: ChatRequest, context: UpstreamContext): Asked {
  const { chat, translated } = canonicalFor(request, context)
  return { asked: bodyOf(chat), translation: translated(new ResponsesDecoder()) }
}

/** The body that is sent: nothing is kept at the upstream, and nothing is faster for a surcharge. */
const outgoing = (asked: Fields, { route }: UpstreamContext, stream: boolean): Fields =>
  applyRules({ service_tier: 'default', ...asked, model: route.model, store: false, stream }, route)
