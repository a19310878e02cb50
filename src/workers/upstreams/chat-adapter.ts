/**
 * What the chats of every protocol have in common: one request, and an answer that is read as it comes.
 */
import type { Dialect } from '../../shared/chat/dialect.ts'
import { grammarOf } from '../../shared/chat/dialect.ts'
import type { ChatRequest } from '../../shared/requests/requests.ts'
import type { ChatAdapter, TakeEvent, UpstreamContext } from './adapter.ts'
import type { UpstreamHttp, UpstreamRequest } from './http.ts'
import type { Translation } from './translation.ts'
import { collected, readChat } from './translation.ts'

/** What is sent for a chat, and what reads the answer. */
export type AskedChat = { post: UpstreamRequest; translation: Translation }

/** Serves chats by one request each. @param dialect that the protocol speaks */
export function chatAdapter(
  http: UpstreamHttp,
  dialect: Dialect,
  asked: (request: ChatRequest, context: UpstreamContext, stream: boolean) => AskedChat,
): ChatAdapter {
  async function ask(request: ChatRequest, context: UpstreamContext, stream: boolean, take: TakeEvent): Promise<void> {
    const { post, translation } = asked(request, context, stream)
    await readChat(await http.body(post, context), translation, context, take)
  }
  return {
    dialect,
    chat: (request, context) =>
      collected((take) => ask(request, context, false, take), grammarOf(context.dialect).answers, http.maxAnswerBytes),
    streamChat: (request, context, take) => ask(request, context, true, take),
  }
}
