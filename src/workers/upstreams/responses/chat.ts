/** Chat by OpenAI's Responses API. */
import { RESPONSES } from '../../../shared/chat/responses/carries.ts'
import { NO_SEAL } from '../../../shared/chat/seal.ts'
import type { ChatAdapter } from '../adapter.ts'
import type { UpstreamHttp } from '../http.ts'
import type { ProtocolParts } from '../protocol.ts'
import { protocol } from '../protocol.ts'
import { ShortNames } from '../short-names.ts'
import { ResponsesDecoder } from './decode-answer.ts'
import { bodyOf } from './encode-request.ts'
import { ResponsesPassThrough, passed } from './pass.ts'

/** How chats are asked for by the Responses API. */
export const RESPONSES_CHAT: ProtocolParts = {
  dialect: 'responses',
  path: () => '/responses',
  pass: (request, { route, callId, seal: { seal, open } = NO_SEAL }) => {
    const names = new ShortNames(RESPONSES.longestName)
    const body = passed(request, route, open, names)
    return { body, translation: names.restored(new ResponsesPassThrough({ request, callId, seal })) }
  },
  encode: (chat) => ({ body: bodyOf(chat), decoder: new ResponsesDecoder(chat.maxTokens) }),
  // Nothing is stored at the upstream, and nothing is faster for a surcharge.
  complete: (body) => ({ service_tier: 'default', ...body, store: false }),
}

/** The chat of every server that speaks the Responses API. */
export const createResponsesChat = (http: UpstreamHttp): ChatAdapter => protocol(http, RESPONSES_CHAT)
