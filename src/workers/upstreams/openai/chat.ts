/**
 * Chat completions of OpenAI's kind. For clients of the same dialect they are passed on with as little change as
 * possible: every field of the list of those that pass, and whatever the answer holds.
 */
import { grammarOf } from '../../../shared/dialects/dialect.ts'
import { asFields } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import { passingFields } from '../../../shared/requests/chat-fields.ts'
import type { ChatRequest } from '../../../shared/requests/requests.ts'
import type { ChatAdapter, TakeEvent, UpstreamContext } from '../adapter.ts'
import { applyRules } from '../body-rules.ts'
import { withoutCustomTools } from '../custom-tools.ts'
import type { UpstreamHttp } from '../http.ts'
import { collected, encoded, readChat } from '../translation.ts'
import { OpenaiChunks } from './chunks.ts'
import { ChunksDecoder } from './events.ts'
import { bodyOf } from './request.ts'

/** The chat of every server that speaks OpenAI's wire format. */
export function createOpenaiChat(http: UpstreamHttp): ChatAdapter {
  async function ask(request: ChatRequest, context: UpstreamContext, stream: boolean, take: TakeEvent): Promise<void> {
    const translated = isOwn(context) ? null : grammarOf(context.dialect).canonical(request)
    const asked = translated ? bodyOf(translated, context.route) : passingFields(request, context.route.allow)
    const post = {
      method: 'POST',
      path: '/chat/completions',
      body: { json: outgoing(asked, context, stream) },
    } as const
    const body = await http.body(
      stream ? { ...post, kind: 'stream', headers: { accept: 'text/event-stream' } } : { ...post, kind: 'chat' },
      context,
    )
    const translation = translated
      ? encoded(new ChunksDecoder(translated.stop), grammarOf(context.dialect).encoder(context.estimatedInput ?? 0))
      : new OpenaiChunks(request.n ?? 1)
    await readChat(body, translation, context, take)
  }
  const all: ChatAdapter = {
    dialect: 'chat',
    chat: (request, context) =>
      collected((take) => ask(request, context, false, take), grammarOf(context.dialect).answers, http.maxAnswerBytes),
    streamChat: (request, context, take) => ask(request, context, true, take),
  }
  const functionsAlone = withoutCustomTools(all)
  const speaking = ({ route }: UpstreamContext) => (route.upstream.customTools === false ? functionsAlone : all)
  return {
    dialect: all.dialect,
    chat: (request, context) => speaking(context).chat(request, context),
    streamChat: (request, context, take) => speaking(context).streamChat(request, context, take),
  }
}

const isOwn = ({ dialect = 'chat' }: UpstreamContext): boolean => dialect === 'chat'

/**
 * The body that is sent. `max_tokens` is what the pre-charge paid for: its other name must not say more. The usage of
 * a stream is always asked for, because the call is settled on it.
 */
function outgoing(asked: Fields, { route }: UpstreamContext, stream: boolean): Fields {
  const { max_completion_tokens: _other, stream_options: options, stream: _stream, ...rest } = asked
  return applyRules(
    {
      ...rest,
      model: route.model,
      stream,
      ...(stream && { stream_options: { ...asFields(options), include_usage: true } }),
    },
    route,
  )
}
