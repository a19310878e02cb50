/**
 * Chat completions of OpenAI's kind. For clients of the same dialect they are passed on with as little change as
 * possible: every field of the list of those that pass, and whatever the answer holds.
 */
import type { Route } from '../../../shared/catalogue/catalogue.ts'
import { asFields } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import { passingFields } from '../../../shared/chat/completions/fields.ts'
import type { ChatRequest } from '../../../shared/requests/requests.ts'
import type { ChatAdapter, UpstreamContext } from '../adapter.ts'
import { applyRules } from '../body-rules.ts'
import { canonicalFor } from '../canonical-chat.ts'
import type { AskedChat } from '../chat-adapter.ts'
import { chatAdapter } from '../chat-adapter.ts'
import { withoutCustomTools } from '../custom-tools.ts'
import type { UpstreamHttp } from '../http.ts'
import type { Translation } from '../translation.ts'
import { OpenaiChunks } from './chunks.ts'
import { ChunksDecoder } from './decode-answer.ts'
import { bodyOf } from './encode-request.ts'

/** The chat of every server that speaks OpenAI's wire format. */
export function createOpenaiChat(http: UpstreamHttp): ChatAdapter {
  const all = chatAdapter(http, 'chat', askedOf)
  const functionsAlone = withoutCustomTools(all)
  // In a message `custom` is the type of an ordinary tool; other dialects are translated.
  const speaking = (context: UpstreamContext) =>
    isOwn(context) && context.route.upstream.customTools === false ? functionsAlone : all
  return {
    dialect: all.dialect,
    chat: (request, context) => speaking(context).chat(request, context),
    streamChat: (request, context, take) => speaking(context).streamChat(request, context, take),
  }
}

const isOwn = ({ dialect = 'chat' }: UpstreamContext): boolean => dialect === 'chat'

/** What is sent, and what reads the answer: of its own dialect both pass nearly as they came. */
function askedOf(request: ChatRequest, context: UpstreamContext, stream: boolean): AskedChat {
  const { asked, translation } = isOwn(context) ? passing(request, context) : translating(request, context)
  const post = {
    method: 'POST',
    path: '/chat/completions',
    body: { json: outgoing(asked, context.route, stream) },
  } as const
  return {
    post: stream ? { ...post, kind: 'stream', headers: { accept: 'text/event-stream' } } : { ...post, kind: 'chat' },
    translation,
  }
}

type Asked = { asked: Fields; translation: Translation }

const passing = (request: ChatRequest, { route }: UpstreamContext): Asked => ({
  asked: passingFields(request, route.allow),
  translation: new OpenaiChunks(request.n ?? 1),
})

function translating(request: ChatRequest, context: UpstreamContext): Asked {
  const { chat, translated } = canonicalFor(request, context)
  return { asked: bodyOf(chat, context.route), translation: translated(new ChunksDecoder(chat.stop)) }
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
