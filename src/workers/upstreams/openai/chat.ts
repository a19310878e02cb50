/**
 * Chat completions of OpenAI's kind. For clients of the same dialect they are passed on with as little change as
 * possible: every field of the list of those that pass, and whatever the answer holds.
 */
import { grammarOf } from '../../../shared/dialects/dialect.ts'
import { asFields } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import { passingFields } from '../../../shared/requests/chat-fields.ts'
import type { ChatRequest } from '../../../shared/requests/requests.ts'
import type { ChatAdapter, ChatEvent, UpstreamContext } from '../adapter.ts'
import type { Route } from '../../../shared/catalogue/catalogue.ts'
import { applyRules } from '../body-rules.ts'
import { canonicalFor } from '../canonical-chat.ts'
import { withoutCustomTools } from '../custom-tools.ts'
import type { UpstreamHttp } from '../http.ts'
import type { Translation } from '../translation.ts'
import { chatEvents, collected } from '../translation.ts'
import { OpenaiChunks } from './chunks.ts'
import { ChunksDecoder } from './events.ts'
import { bodyOf } from './request.ts'

/** The chat of every server that speaks OpenAI's wire format. */
export function createOpenaiChat(http: UpstreamHttp): ChatAdapter {
  async function* ask(request: ChatRequest, context: UpstreamContext, stream: boolean): AsyncGenerator<ChatEvent> {
    const { json, translation } = askedOf(request, context, stream)
    const post = { method: 'POST', path: '/chat/completions', body: { json } } as const
    const body = await http.body(
      stream ? { ...post, kind: 'stream', headers: { accept: 'text/event-stream' } } : { ...post, kind: 'chat' },
      context,
    )
    yield* chatEvents(body, translation, context)
  }
  const all: ChatAdapter = {
    chat: (request, context) =>
      collected(ask(request, context, false), grammarOf(context.dialect).answers, http.maxAnswerBytes),
    streamChat: (request, context) => ask(request, context, true),
  }
  const functionsAlone = withoutCustomTools(all)
  const speaking = (context: UpstreamContext) =>
    isOwn(context) && context.route.upstream.customTools === false ? functionsAlone : all
  return {
    chat: (request, context) => speaking(context).chat(request, context),
    streamChat: (request, context) => speaking(context).streamChat(request, context),
  }
}

const isOwn = ({ dialect = 'chat' }: UpstreamContext): boolean => dialect === 'chat'

/** What is sent, and what reads the answer: of its own dialect both pass nearly as they came. */
function askedOf(
  request: ChatRequest,
  context: UpstreamContext,
  stream: boolean,
): { json: Fields; translation: Translation } {
  const { route } = context
  if (isOwn(context)) {
    const json = outgoing(passingFields(request, route.allow), route, stream)
    return { json, translation: new OpenaiChunks(request.n ?? 1) }
  }
  const { chat, translated } = canonicalFor(request, context)
  return { json: outgoing(bodyOf(chat, route), route, stream), translation: translated(new ChunksDecoder()) }
}

/**
 * The body that is sent. `max_tokens` is what the pre-charge paid for: its other name must not say more. The usage of
 * a stream is always asked for, because the call is settled on it.
 */
function outgoing(asked: Fields, route: Route, stream: boolean): Fields {
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
