/**
 * The chats of an upstream protocol: one request each, and an answer that is read as it comes. In the dialect of the
 * protocol both pass nearly as they came; others are translated by way of the canonical chat, with tools that every
 * upstream knows.
 */
import type { Route } from '../../shared/catalogue/catalogue.ts'
import type { CanonicalChat } from '../../shared/chat/canonical.ts'
import type { Dialect } from '../../shared/chat/dialect.ts'
import { dialectOf } from '../../shared/chat/dialect.ts'
import { carriesOf } from '../../shared/chat/protocols.ts'
import type { Seal } from '../../shared/chat/seal.ts'
import { NO_SEAL } from '../../shared/chat/seal.ts'
import type { Fields } from '../../shared/platform/fields.ts'
import { writtenOver } from '../../shared/platform/json-edits.ts'
import type { ChatRequest } from '../../shared/requests/requests.ts'
import type { ChatAdapter, TakeEvent, UpstreamContext } from './adapter.ts'
import { applyRules } from './body-rules.ts'
import type { UpstreamHttp, UpstreamRequest } from './http.ts'
import { withPlainTools } from './plain-tools.ts'
import { dividedStops, withStopWords } from './stop-words.ts'
import { orderedTurns } from './turn-order.ts'
import type { Decoder, Translation } from './translation.ts'
import { collected, encoded, readChat } from './translation.ts'

/** What an upstream protocol consists of. Bodies are without what most requests have: `model` and `stream`. */
export type ProtocolParts = {
  /** The dialect that its upstreams speak. */
  dialect: Dialect
  path: (route: Route, stream: boolean) => string
  /** Model and stream are in the path, and not in the body. */
  isNamedByPath?: true
  headers?: (context: UpstreamContext, stream: boolean) => Record<string, string>
  /** The body of a request in the same dialect, and what passes the answer on. */
  pass: (request: ChatRequest, context: UpstreamContext) => { body: Fields; translation: Translation }
  /**
   * The body of a chat that was asked in another dialect, and what decodes the answer.
   * @param seal for what only this route may read again
   * @throws UpstreamError
   */
  encode: (chat: CanonicalChat, route: Route, seal: Seal) => { body: Fields; decoder: Decoder }
  /** The fields of every body. */
  complete?: (body: Fields, stream: boolean) => Fields
}

/** The body that is sent: with the upstream's model, and by the rules of its route. @throws UpstreamError */
export const sentBody = (
  body: Fields,
  route: Route,
  stream: boolean,
  { isNamedByPath }: Pick<ProtocolParts, 'isNamedByPath'> = {},
): Fields => applyRules(isNamedByPath ? body : { ...body, model: route.model, stream }, route)

/** The request that sends a body. */
export const postOf = (
  json: Fields,
  { path, headers }: Pick<ProtocolParts, 'path' | 'headers'>,
  context: UpstreamContext,
  stream: boolean,
): UpstreamRequest & { path: string } => ({
  method: 'POST',
  path: path(context.route, stream),
  kind: stream ? 'stream' : 'chat',
  body: { json },
  ...(headers && { headers: headers(context, stream) }),
})

/** Serves the chats of a protocol. */
export function protocol(http: UpstreamHttp, parts: ProtocolParts): ChatAdapter {
  const { dialect } = parts
  async function ask(request: ChatRequest, context: UpstreamContext, stream: boolean, take: TakeEvent): Promise<void> {
    const { body, translation } = asked(parts, request, context, stream)
    const post = { ...postOf(body, parts, context, stream), body: sentAs(body, parts, context) }
    await readChat(await http.body(post, context), translation, context, take)
  }
  return {
    dialect,
    chat: (request, context) =>
      collected((take) => ask(request, context, false, take), dialectOf(context.dialect).answers, http.maxAnswerBytes),
    streamChat: (request, context, take) => ask(request, context, true, take),
  }
}

/** The body that asks for a chat, and what reads its answer. @throws UpstreamError */
export function asked(
  { dialect, pass, encode, complete = (body) => body, ...parts }: ProtocolParts,
  request: ChatRequest,
  context: UpstreamContext,
  stream: boolean,
): { body: Fields; translation: Translation } {
  const isOwn = (context.dialect ?? 'chat') === dialect
  const { body, translation } = isOwn ? pass(request, context) : translating(encode, request, context)
  const whole = complete({ ...body, ...cacheKeyOf(context) }, stream)
  return { body: sentBody(whole, context.route, stream, parts), translation }
}

/** A host of OpenAI itself. */
const OPENAI_HOST = /^([a-z]+\.)?api\.openai\.com$/

/** Whether an upstream finds the cache of a session by `prompt_cache_key`; many refuse fields that they do not know. */
function knowsCacheKey({ protocol: spoken, baseUrl, promptCacheKey }: Route['upstream']): boolean {
  if (promptCacheKey !== undefined) return promptCacheKey
  return spoken === 'responses' || (spoken === 'openai' && OPENAI_HOST.test(new URL(baseUrl).hostname))
}

const cacheKeyOf = ({ cacheKey, route }: UpstreamContext): Fields =>
  cacheKey !== undefined && knowsCacheKey(route.upstream) ? { prompt_cache_key: cacheKey } : {}

/** What is sent: in the dialect of its client as that has written it, with what is to be changed. */
const sentAs = (
  body: Fields,
  { dialect }: Pick<ProtocolParts, 'dialect'>,
  { dialect: own = 'chat', written }: UpstreamContext,
): { json: Fields } | { text: string } =>
  written && own === dialect ? { text: writtenOver(written.text, written.fields, body) } : { json: body }

function translating(encode: ProtocolParts['encode'], request: ChatRequest, context: UpstreamContext) {
  const { chat, translated } = canonicalFor(request, context)
  const { body, decoder } = encode(chat, context.route, context.seal ?? NO_SEAL)
  return { body, translation: translated(decoder) }
}

/** The chat that is asked, and what makes frames of its client's dialect of what the upstream's decoder reads. */
export function canonicalFor(
  request: ChatRequest,
  { dialect, callId, route, estimatedInput = 0, seal: { seal, open } = NO_SEAL }: UpstreamContext,
): { chat: CanonicalChat; translated: (decoder: Decoder) => Translation } {
  const { canonical, encoder } = dialectOf(dialect)
  const carries = carriesOf(route)
  const said = canonical(request, open)
  const { chat, restoring } = withPlainTools({ ...said, turns: orderedTurns(said.turns) }, carries)
  const { sent, applied } = dividedStops(chat.stop, carries)
  const frames = encoder({ request, inputTokens: estimatedInput, callId, seal })
  return {
    chat: { ...chat, stop: sent },
    translated: (decoder) => encoded(withStopWords(restoring(decoder), applied), frames),
  }
}
