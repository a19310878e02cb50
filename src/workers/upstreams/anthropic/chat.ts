/**
 * Chat by Anthropic's Messages API.
 */
import { grammarOf } from '../../../shared/dialects/dialect.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import type { ChatRequest } from '../../../shared/requests/requests.ts'
import type { ChatAdapter, TakeEvent, UpstreamContext } from '../adapter.ts'
import { withoutCustomTools } from '../custom-tools.ts'
import { malformedAnswer } from '../failures.ts'
import type { Authorize, UpstreamHttp } from '../http.ts'
import type { Translation } from '../translation.ts'
import { collected, encoded, readChat } from '../translation.ts'
import { MessagesDecoder } from './events.ts'
import { Alphabet } from './names.ts'
import { PassedMessages, counted, passed } from './pass.ts'
import { outgoing } from './request.ts'

/** The version whose rules this adapter follows; later ones refuse more. An upstream's `headers` may name another. */
const VERSION = '2023-06-01'

/** `x-api-key`, as Anthropic wants its key. */
export const anthropicKey: Authorize = (key) => ({ 'x-api-key': key })

/** The chat of every server that speaks the Messages API. */
export function createAnthropicChat(http: UpstreamHttp): ChatAdapter {
  async function ask(request: ChatRequest, context: UpstreamContext, stream: boolean, take: TakeEvent): Promise<void> {
    const { json, translation } = askedOf(request, context, stream)
    const body = await http.body({ ...post(json, context), kind: stream ? 'stream' : 'chat' }, context)
    await readChat(body, translation, context, take)
  }
  return withoutCustomTools({
    dialect: 'messages',
    chat: (request, context) =>
      collected((take) => ask(request, context, false, take), grammarOf(context.dialect).answers, http.maxAnswerBytes),
    streamChat: (request, context, take) => ask(request, context, true, take),
    count: async (request, context) => {
      const { path, ...rest } = post(counted(request, context.route), context)
      const { input_tokens: tokens } = await http.json({ ...rest, path: `${path}/count_tokens`, kind: 'chat' }, context)
      if (!Number.isSafeInteger(tokens) || Number(tokens) < 0) throw malformedAnswer('the answer is no count')
      return Number(tokens)
    },
  })
}

/** What is sent, and what reads the answer: of its own dialect both pass as they came. */
function askedOf(
  request: ChatRequest,
  { route, dialect, estimatedInput = 0 }: UpstreamContext,
  stream: boolean,
): { json: Fields; translation: Translation } {
  if (dialect === 'messages') return { json: passed(request, route, stream), translation: new PassedMessages() }
  const names = { ids: new Alphabet(), tools: new Alphabet() }
  const json = outgoing(grammarOf(dialect).canonical(request), route, stream, names)
  const decoder = new MessagesDecoder(names.tools.back)
  return { json, translation: encoded(decoder, grammarOf(dialect).encoder(estimatedInput)) }
}

/** Base addresses are written with and without the version: Anthropic's own is without, as its SDK wants it. */
function post(json: Fields, { betas = [], route: { upstream } }: UpstreamContext) {
  const path = upstream.baseUrl.endsWith('/v1') ? '/messages' : '/v1/messages'
  const headers = { 'anthropic-version': VERSION, ...(betas.length > 0 && { 'anthropic-beta': betas.join(',') }) }
  return { method: 'POST', path, body: { json }, headers } as const
}
