/**
 * Chat completions of OpenAI's kind. For clients of the same dialect they are passed on with as little change as
 * possible: every field of the list of those that pass, and whatever the answer holds.
 */
import { asFields } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import { sentFields } from '../../../shared/chat/check-body.ts'
import { FREE_FIELDS } from '../../../shared/chat/completions/fields.ts'
import type { ChatAdapter, UpstreamContext } from '../adapter.ts'
import { withoutCustomTools } from '../custom-tools.ts'
import type { UpstreamHttp } from '../http.ts'
import { protocol } from '../protocol.ts'
import { OpenaiChunks } from './chunks.ts'
import { ChunksDecoder } from './decode-answer.ts'
import { bodyOf } from './encode-request.ts'

/** The chat of every server that speaks OpenAI's wire format. */
export function createOpenaiChat(http: UpstreamHttp): ChatAdapter {
  const all = protocol(http, {
    dialect: 'chat',
    path: () => '/chat/completions',
    headers: (_context, stream): Record<string, string> => (stream ? { accept: 'text/event-stream' } : {}),
    pass: (request, { route }) => ({
      body: sentFields(request, FREE_FIELDS, route.allow),
      translation: new OpenaiChunks(request.n ?? 1),
    }),
    encode: (chat, route) => ({ body: bodyOf(chat, route), decoder: new ChunksDecoder(chat.stop) }),
    complete,
  })
  const functionsAlone = withoutCustomTools(all)
  // In a message `custom` is the type of an ordinary tool; other dialects are translated.
  const speaking = ({ dialect = 'chat', route }: UpstreamContext) =>
    dialect === 'chat' && route.upstream.customTools === false ? functionsAlone : all
  return {
    dialect: all.dialect,
    chat: (request, context) => speaking(context).chat(request, context),
    streamChat: (request, context, take) => speaking(context).streamChat(request, context, take),
  }
}

/**
 * `max_tokens` is what the pre-charge paid for: its other name must not say more. The usage of a stream is always asked
 * for, because the call is settled on it.
 */
function complete(body: Fields, stream: boolean): Fields {
  const { max_completion_tokens: _other, stream_options: options, ...rest } = body
  return stream ? { ...rest, stream_options: { ...asFields(options), include_usage: true } } : rest
}
