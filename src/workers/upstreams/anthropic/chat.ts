/** Chat by Anthropic's Messages API. */
import type { ChatAdapter } from '../adapter.ts'
import { malformedAnswer } from '../failures.ts'
import type { UpstreamHttp } from '../http.ts'
import type { ProtocolParts } from '../protocol.ts'
import { postOf, protocol, sentBody } from '../protocol.ts'
import { MessagesDecoder } from './decode-answer.ts'
import { bodyOf } from './encode-request.ts'
import { MessagesPassThrough, counted, passed } from './pass.ts'

/** The version whose rules this adapter follows; later ones refuse more. An upstream's `headers` may name another. */
const VERSION = '2023-06-01'

/** How chats are asked for by the Messages API. */
export const ANTHROPIC_CHAT: ProtocolParts = {
  dialect: 'messages',
  // Base addresses are written with and without the version: Anthropic's own is without, as its SDK wants it.
  path: ({ upstream }) => (upstream.baseUrl.endsWith('/v1') ? '/messages' : '/v1/messages'),
  headers: ({ betas = [] }) => ({
    'anthropic-version': VERSION,
    ...(betas.length > 0 && { 'anthropic-beta': betas.join(',') }),
  }),
  pass: (request, { route, estimatedInput }) => ({
    body: passed(request, route),
    translation: new MessagesPassThrough(estimatedInput),
  }),
  encode: (chat, route) => ({ body: bodyOf(chat, route), decoder: new MessagesDecoder() }),
}

/** The chat of every server that speaks the Messages API. */
export const createAnthropicChat = (http: UpstreamHttp): ChatAdapter => ({
  ...protocol(http, ANTHROPIC_CHAT),
  count: async (request, context) => {
    const body = sentBody(passed({ ...request, max_tokens: Infinity }, context.route), context.route, false)
    const { path, ...post } = postOf(counted(body), ANTHROPIC_CHAT, context, false)
    const { input_tokens: tokens } = await http.json({ ...post, path: `${path}/count_tokens` }, context)
    if (!Number.isSafeInteger(tokens) || Number(tokens) < 0) throw malformedAnswer('the answer is no count')
    return Number(tokens)
  },
})
