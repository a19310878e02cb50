import type { Protocol } from '../exchange.ts'
import { chatRoute } from '../openai/chat.ts'
import { authorizationKey } from '../wire.ts'
import type { Fault, Fields } from '../wire.ts'
import { costOf } from './cost.ts'
import { imagesRoute } from './images.ts'
import { videoRoutes } from './videos.ts'

function openrouterError({ status, message, param }: Fault): { body: Fields } {
  return { body: { error: { code: status, message, ...(param && { metadata: { param } }) } } }
}

/** OpenRouter: OpenAI's chat with the cost in dollars, and its own protocols for images and videos. */
export const openrouterProtocol: Protocol = {
  name: 'openrouter',
  keyOf: (headers) => authorizationKey(headers, 'Bearer'),
  envelope: openrouterError,
  outOfCredit: { status: 402, message: 'Insufficient credits.' },
  routes: [
    chatRoute({
      path: '/openrouter/api/v1/chat/completions',
      marks: { provider: 'Sandbox' },
      usageExtras: ({ input, output }) => ({ cost: costOf(input + output), is_byok: false }),
    }),
    imagesRoute,
    ...videoRoutes,
  ],
}
