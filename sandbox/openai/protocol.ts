import type { Protocol } from '../exchange.ts'
import { authorizationKey } from '../wire.ts'
import { answer } from '../http/answer.ts'
import { audioRoutes } from './audio.ts'
import { chatRoute } from './chat.ts'
import { embeddingRoute } from './embeddings.ts'
import { openaiError } from './errors.ts'
import { imageRoutes } from './images.ts'
import { moderationRoute } from './moderations.ts'
import { rerankRoute } from './rerank.ts'
import { responsesRoute } from './responses.ts'
import { videoRoutes } from './videos.ts'

/**
 * OpenAI's API: chat, whole or as responses, embeddings, moderations, sound and images; and what compatible servers
 * offer besides: rankings and videos.
 */
export const openaiProtocol: Protocol = {
  name: 'openai',
  keyOf: (headers) => authorizationKey(headers, 'Bearer'),
  envelope: openaiError,
  outOfCredit: {
    status: 429,
    message: 'You exceeded your current quota, please check your plan and billing details.',
    code: 'insufficient_quota',
  },
  routes: [
    { method: 'GET', path: '/v1/models', handle: (exchange) => answer(exchange, { object: 'list', data: [] }) },
    chatRoute({
      path: '/v1/chat/completions',
      marks: { service_tier: 'default', system_fingerprint: 'fp_sandbox' },
      usageExtras: () => ({}),
    }),
    responsesRoute,
    embeddingRoute,
    moderationRoute,
    rerankRoute,
    ...audioRoutes,
    ...imageRoutes,
    ...videoRoutes,
  ],
}
