/** Chat by Google's Gemini API. */
import { NO_SEAL } from '../../../shared/chat/seal.ts'
import type { ChatAdapter } from '../adapter.ts'
import { malformedAnswer } from '../failures.ts'
import type { UpstreamHttp } from '../http.ts'
import type { ProtocolParts } from '../protocol.ts'
import { postOf, protocol, sentBody } from '../protocol.ts'
import { GeminiDecoder } from './decode-answer.ts'
import { bodyOf } from './encode-request.ts'
import { GeminiPassThrough, passed } from './pass.ts'
import { pathOf } from './path.ts'

/** How chats are asked for by the Gemini API. */
export const GEMINI_CHAT: ProtocolParts = {
  dialect: 'gemini',
  path: (route, stream) => pathOf(route, stream ? 'streamGenerateContent?alt=sse' : 'generateContent'),
  isNamedByPath: true,
  pass: (request, { route, seal: { seal, open } = NO_SEAL }) => ({
    body: passed(request, route, open),
    translation: new GeminiPassThrough(seal),
  }),
  encode: (chat, { model }, { seal, open }) => ({
    body: bodyOf(chat, { model, open }),
    decoder: new GeminiDecoder({ seal, isOneCall: chat.oneToolAtATime }),
  }),
}

/** The chat of every server that speaks the Gemini API. */
export const createGeminiChat = (http: UpstreamHttp): ChatAdapter => ({
  ...protocol(http, GEMINI_CHAT),
  count: async (request, context) => {
    const { route, seal: { open } = NO_SEAL } = context
    const { generationConfig: _output, ...asked } = passed(request, route, open)
    const body = {
      generateContentRequest: { model: `models/${route.model}`, ...sentBody(asked, route, false, GEMINI_CHAT) },
    }
    const post = { ...postOf(body, GEMINI_CHAT, context, false), path: pathOf(route, 'countTokens') }
    const { totalTokens: tokens } = await http.json(post, context)
    if (!Number.isSafeInteger(tokens) || Number(tokens) < 0) throw malformedAnswer('the answer is no count')
    return Number(tokens)
  },
})
