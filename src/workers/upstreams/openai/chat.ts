/**
 * Chat completions of OpenAI's kind. For clients of the same dialect they are passed on with as little change as
 * possible: every field of the list of those that pass, and everything that the answer has.
 */
import { asFields } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import { sentFields } from '../../../shared/chat/check-body.ts'
import { OPENAI } from '../../../shared/chat/completions/carries.ts'
import { FREE_FIELDS } from '../../../shared/chat/completions/fields.ts'
import type { ChatAdapter } from '../adapter.ts'
import { withCustomTools } from '../custom-tools.ts'
import type { UpstreamHttp } from '../http.ts'
import type { ProtocolParts } from '../protocol.ts'
import { protocol } from '../protocol.ts'
import { ShortNames } from '../short-names.ts'
import { OpenaiChunks } from './chunks.ts'
import { ChunksDecoder } from './decode-answer.ts'
import { bodyOf } from './encode-request.ts'
import { corrected } from './pass.ts'

/** How chats are asked for by OpenAI's wire format. */
export const OPENAI_CHAT: ProtocolParts = {
  dialect: 'chat',
  path: () => '/chat/completions',
  headers: (_context, stream): Record<string, string> => (stream ? { accept: 'text/event-stream' } : {}),
  pass: (request, { route }) => {
    const names = new ShortNames(OPENAI.longestName)
    const body = corrected(sentFields(request, FREE_FIELDS, route.allow), names)
    return { body, translation: names.restored(new OpenaiChunks(request.n ?? 1)) }
  },
  encode: (chat, route) => ({ body: bodyOf(chat, route), decoder: new ChunksDecoder(chat.stop) }),
  complete,
}

/** The chat of every server that speaks OpenAI's wire format. */
export const createOpenaiChat = (http: UpstreamHttp): ChatAdapter => withCustomTools(protocol(http, OPENAI_CHAT))

/**
 * `max_tokens` is what the pre-charge paid for: its other name must not allow more. The usage of a stream is always
 * asked for, because the call is settled on it.
 */
function complete(body: Fields, stream: boolean): Fields {
  const { max_completion_tokens: _other, stream_options: options, ...rest } = body
  return stream ? { ...rest, stream_options: { ...asFields(options), include_usage: true } } : rest
}
