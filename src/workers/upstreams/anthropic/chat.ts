/**
 * Chat by Anthropic's Messages API.
 */
import type { ChatAdapter, UpstreamContext } from '../adapter.ts'
import type { Fields } from '../fields.ts'
import type { Authorize, UpstreamHttp } from '../http.ts'
import { readEvents } from '../sse.ts'
import { resultOf } from './answer.ts'
import { outgoing } from './request.ts'
import { chunksOf } from './stream.ts'

/** The version whose rules this adapter follows; later ones refuse more. An upstream's `headers` may name another. */
const VERSION = '2023-06-01'

/** `x-api-key`, as Anthropic wants its key. */
export const anthropicKey: Authorize = (key) => ({ 'x-api-key': key })

/** The chat of every server that speaks the Messages API. */
export function createAnthropicChat(http: UpstreamHttp): ChatAdapter {
  return {
    async chat(request, context) {
      return resultOf(() => http.json({ ...post(outgoing(request, context, false), context), kind: 'chat' }, context))
    },

    async *streamChat(request, context) {
      const body = await http.body({ ...post(outgoing(request, context, true), context), kind: 'stream' }, context)
      yield* chunksOf(readEvents(body, ({ event }) => event === 'message_stop'))
    },
  }
}

/** Base addresses are written with and without the version: Anthropic's own is without, as its SDK wants it. */
function post(json: Fields, { route: { upstream } }: UpstreamContext) {
  const path = upstream.baseUrl.endsWith('/v1') ? '/messages' : '/v1/messages'
  return { method: 'POST', path, body: { json }, headers: { 'anthropic-version': VERSION } } as const
}
