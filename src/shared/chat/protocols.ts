/** What the protocols of upstreams take of a chat, and which of a model's upstreams can be asked for one. */
import type { ApiError } from '../platform/errors.ts'
import type { ChatRequest } from '../requests/requests.ts'
import type { CanonicalChat } from './canonical.ts'
import { OPENAI, OPENROUTER } from './completions/carries.ts'
import type { Dialect } from './dialect.ts'
import { dialectOf } from './dialect.ts'
import type { Carries, Feature } from './features.ts'
import { FEATURES, unnamedFields } from './features.ts'
import { GEMINI } from './gemini/carries.ts'
import { ANTHROPIC } from './messages/carries.ts'
import { RESPONSES } from './responses/carries.ts'

/** The protocols that serve chats: the dialect that each speaks, and what it takes of chats in others. */
export const CHAT_PROTOCOLS = {
  openai: { dialect: 'chat', carries: OPENAI },
  openrouter: { dialect: 'chat', carries: OPENROUTER },
  anthropic: { dialect: 'messages', carries: ANTHROPIC },
  responses: { dialect: 'responses', carries: RESPONSES },
  gemini: { dialect: 'gemini', carries: GEMINI },
} as const satisfies Readonly<Record<string, { dialect: Dialect; carries: Carries }>>

/** A protocol that serves chats. */
export type ChatProtocol = keyof typeof CHAT_PROTOCOLS

/** What of a route decides what it can carry. */
type Route = { upstream: { protocol: string }; allow: readonly string[] }

/** What the protocol of a route takes. @throws TypeError for one that serves no chats */
export const carriesOf = ({ upstream: { protocol } }: Pick<Route, 'upstream'>): Carries =>
  CHAT_PROTOCOLS[protocol as ChatProtocol].carries

/** The first thing that a chat asks for, and a route of another dialect cannot carry, as its client calls it. */
export function refusedBy(chat: CanonicalChat, route: Route): string | null {
  const { cells, takesAllowed } = carriesOf(route)
  const isAllowed = (name: string): boolean => takesAllowed === true && route.allow.includes(name)
  for (const [name, find] of Object.entries(FEATURES)) {
    if (cells[name as Feature] !== 'refused' || isAllowed(name)) continue
    const path = find(chat)
    if (path !== null) return path
  }
  return unnamedFields(chat).find((name) => !isAllowed(name)) ?? null
}

/** Whether one of these routes speaks a dialect. */
export const speaks = (routes: readonly Pick<Route, 'upstream'>[], dialect: Dialect): boolean =>
  routes.some(({ upstream: { protocol } }) => CHAT_PROTOCOLS[protocol as ChatProtocol].dialect === dialect)

/** The first thing that a request asks for and a route cannot carry; null where it carries everything. */
function missingAt(request: ChatRequest, dialect: Dialect, chat: () => CanonicalChat, route: Route): string | null {
  if (CHAT_PROTOCOLS[route.upstream.protocol as ChatProtocol].dialect !== dialect) return refusedBy(chat(), route)
  return (
    dialectOf(dialect)
      .needsAllow(request)
      .find((name) => !route.allow.includes(name)) ?? null
  )
}

const canonicalOnce = (request: ChatRequest, dialect: Dialect): (() => CanonicalChat) => {
  let chat: CanonicalChat | undefined
  return () => (chat ??= dialectOf(dialect).canonical(request, () => null))
}

/**
 * The routes that carry all that a request asks for, in their order.
 * @param dialect that of the request; chat completions where it is absent
 */
export function carryingRoutes<R extends Route>(
  routes: readonly R[],
  request: ChatRequest,
  dialect: Dialect = 'chat',
): R[] {
  const chat = canonicalOnce(request, dialect)
  return routes.filter((route) => missingAt(request, dialect, chat, route) === null)
}

/**
 * Checks that an upstream of a model can carry a request.
 * @throws ApiError invalid_request that names what none can carry
 */
export function requireCarried(routes: readonly Route[], request: ChatRequest, dialect: Dialect = 'chat'): void {
  const chat = canonicalOnce(request, dialect)
  let missing: string | null = null
  for (const route of routes) {
    const path = missingAt(request, dialect, chat, route)
    if (path === null) return
    missing ??= path
  }
  if (missing !== null) throw refusal(missing, dialect)
}

const refusal = (path: string, dialect: Dialect): ApiError =>
  dialectOf(dialect).refusal(path, 'is not supported by the upstreams of this model')
