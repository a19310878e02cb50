/** What a client of a dialect asks at an upstream of a protocol, and the answer that it gets. */
import type { Dialect } from '../../../src/shared/chat/dialect.ts'
import { dialectOf } from '../../../src/shared/chat/dialect.ts'
import { sealFor } from '../../../src/shared/chat/seal.ts'
import type { Fields } from '../../../src/shared/platform/fields.ts'
import { newId } from '../../../src/shared/platform/ids.ts'
import type { ChatRequest } from '../../../src/shared/requests/requests.ts'
import { ANTHROPIC_CHAT } from '../../../src/workers/upstreams/anthropic/chat.ts'
import { GEMINI_CHAT } from '../../../src/workers/upstreams/gemini/chat.ts'
import { OPENAI_CHAT } from '../../../src/workers/upstreams/openai/chat.ts'
import { asked } from '../../../src/workers/upstreams/protocol.ts'
import { RESPONSES_CHAT } from '../../../src/workers/upstreams/responses/chat.ts'
import { eventsIn, streamOf } from './answer-bodies.ts'
import { contextOf, routeTo } from './sandbox-upstreams.ts'
import type { RouteChanges } from './sandbox-upstreams.ts'

/** The parts of each protocol that serves chats. */
export const PARTS = {
  openai: OPENAI_CHAT,
  openrouter: OPENAI_CHAT,
  anthropic: ANTHROPIC_CHAT,
  responses: RESPONSES_CHAT,
  gemini: GEMINI_CHAT,
}
/** The protocols that serve chats. */
export type Protocol = keyof typeof PARTS
const account = newId('account')

/** What a client of a dialect asks at an upstream of a protocol. */
export function ask(dialect: Dialect, fields: Fields, protocol: Protocol, route = 'a', changes: RouteChanges = {}) {
  const request = { messages: [], max_tokens: 100, ...fields } as ChatRequest
  const seal = sealFor('a secret of at least thirty-two characters', { accountId: account, route })
  const context = { ...contextOf(routeTo(protocol, 'http://x.test', changes)), dialect, seal }
  const { body, translation } = asked(PARTS[protocol], request, context, true)
  return {
    body,
    /** The answer that its client gets of what the upstream sends. */
    answer: async (...sent: unknown[]) => {
      const { events, error } = await eventsIn(translation, streamOf(...sent))
      if (error) throw error
      const assembly = dialectOf(dialect).answers.assemble(1_000_000)
      for (const event of events) if (event.type === 'frame') assembly.add(event.frame)
      return assembly.answer('stop')
    },
    translation,
  }
}
