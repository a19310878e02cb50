/** Chat by OpenAI's Responses API. */
import { NO_SEAL } from '../../../shared/chat/seal.ts'
import type { ChatAdapter } from '../adapter.ts'
import type { UpstreamHttp } from '../http.ts'
import type { ProtocolParts } from '../protocol.ts'
import { protocol } from '../protocol.ts'
import { ResponsesDecoder } from './decode-answer.ts'
import { bodyOf } from './encode-request.ts'
import { ResponsesPassThrough, passed } from './pass.ts'

/** How chats are asked for by the Responses API. */
export const RESPONSES_CHAT: ProtocolParts = {
  dialect: 'responses',
  path: () => '/responses',
  pass: (request, { route, callId, seal: { seal, open } = NO_SEAL }) => ({
    body: passed(request, route, open),
    translation: new ResponsesPassThrough({ request, callId, seal }),
  }),
  encode: (chat) => ({ body: bodyOf(chat), decoder: new ResponsesDecoder() }),
  // Nothing is stored at the upstream, and nothing is faster for a surcharge.
  complete: (body) => ({ service_tier: 'default', ...body, store: false }),
}

/** The chat of every server that speaks the Responses API. */
export const createResponsesChat = (http: UpstreamHttp): ChatAdapter => protocol(http, RESPONSES_CHAT)
