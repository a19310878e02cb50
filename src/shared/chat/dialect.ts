/**
 * The dialects that chats are asked in, and how each reads its requests and writes its answers.
 */
import type { Fields } from '../platform/fields.ts'
import type { CountingRules } from '../terms/pricing.ts'
import { tokensOfParts } from '../terms/pricing.ts'
import type { ChatRequest } from '../requests/requests.ts'
import { addressesOf, withImages } from '../requests/requests.ts'
import type { AnswerForm } from './answer-form.ts'
import type { CanonicalChat } from './canonical.ts'
import { chatForm } from './completions/answer.ts'
import { canonicalChat } from './completions/read-request.ts'
import { ChunkEncoder } from './completions/write-frames.ts'
import { chatAsksForReasoning, mostChatBytes } from './completions/reading.ts'
import type { AnswerEncoder } from './events.ts'
import { messagesForm } from './messages/answer.ts'
import { canonicalMessages } from './messages/read-request.ts'
import { fixedTokens } from './messages/estimate.ts'
import { MessageEncoder } from './messages/write-frames.ts'
import { addressesIn, partsOf, withPictures } from './messages/parts.ts'
import { messageAsksForReasoning, mostMessageBytes } from './messages/reading.ts'
import { responsesForm } from './responses/answer.ts'
import { canonicalResponses } from './responses/read-request.ts'
import { fixedTokens as fixedResponseTokens } from './responses/estimate.ts'
import { ResponseEncoder } from './responses/write-frames.ts'
import * as responseParts from './responses/parts.ts'
import { mostResponseBytes, responseAsksForReasoning } from './responses/reading.ts'
import type { Open, Seal } from './seal.ts'

const isAddress = (url: unknown): url is string => typeof url === 'string' && /^https?:/i.test(url)

/** `chat`: OpenAI's chat completions. `messages`: Anthropic's Messages API. `responses`: OpenAI's Responses. */
export const DIALECTS = ['chat', 'messages', 'responses'] as const
/** A dialect that chats are asked in. */
export type Dialect = (typeof DIALECTS)[number]

/**
 * The answer that is made. `inputTokens`: the input that a stream names at its beginning, where its dialect does that.
 * `callId`: the public id of its call. `seal`: seals for the route that makes it.
 */
export type Answered = { request: ChatRequest; inputTokens: number; callId: string; seal: Seal['seal'] }

/** How a dialect reads its requests and writes its answers. */
type Grammar = {
  /** @param open opens what was sealed for the route that is asked */
  canonical: (request: ChatRequest, open: Open) => CanonicalChat
  encoder: (answered: Answered) => AnswerEncoder
  answers: AnswerForm
  /** Whether the fields of a request ask for reasoning. */
  asksForReasoning: (fields: Fields) => boolean
  /** The most bytes of JSON that the answer to a request may take. */
  mostBytes: (request: ChatRequest) => number
  /**
   * Whether clients are told how an upstream failed as its vendor tells it, with its status. Else every failure is 502
   * (specification: gateway errors).
   */
  tellsFailures: boolean
  /** The input tokens of a request that do not count by its bytes. */
  fixedTokens: (request: ChatRequest, rules: CountingRules) => number
  /** The http(s) addresses that an upstream would fetch, or we for it. */
  addresses: (request: ChatRequest) => string[]
  /** The request with the addresses of its pictures as `change` returns them: others, or `data:` URIs. */
  withPictures: (request: ChatRequest, change: (url: unknown) => unknown) => ChatRequest
  /** Whether it names more than pictures by an address. */
  namesMore: (request: ChatRequest) => boolean
}

const GRAMMARS: Readonly<Record<Dialect, Grammar>> = {
  chat: {
    canonical: canonicalChat,
    encoder: () => new ChunkEncoder(),
    answers: chatForm,
    asksForReasoning: chatAsksForReasoning,
    mostBytes: mostChatBytes,
    tellsFailures: false,
    fixedTokens: tokensOfParts,
    addresses: ({ messages }) =>
      messages.flatMap((message) => addressesOf(message).map(({ url }) => url)).filter(isAddress),
    withPictures: (request, change) => ({
      ...request,
      messages: request.messages.map((message) => withImages(message, change)),
    }),
    namesMore: ({ messages }) =>
      messages.some((message) =>
        addressesOf(message).some(({ field, url }) => field !== 'image_url' && isAddress(url)),
      ),
  },
  messages: {
    canonical: canonicalMessages,
    encoder: ({ inputTokens }) => new MessageEncoder(inputTokens),
    answers: messagesForm,
    asksForReasoning: messageAsksForReasoning,
    mostBytes: mostMessageBytes,
    tellsFailures: true,
    fixedTokens,
    addresses: addressesIn,
    withPictures: (request, change) => withPictures(request, (url) => String(change(url))),
    namesMore: (request) => partsOf(request).some(({ kind, source }) => kind === 'document' && source.type === 'url'),
  },
  responses: {
    canonical: canonicalResponses,
    encoder: ({ request, callId, seal }) => new ResponseEncoder(request, callId, seal),
    answers: responsesForm,
    asksForReasoning: responseAsksForReasoning,
    mostBytes: mostResponseBytes,
    tellsFailures: true,
    fixedTokens: fixedResponseTokens,
    addresses: responseParts.addressesIn,
    withPictures: responseParts.withPictures,
    namesMore: responseParts.namesFiles,
  },
}

/** How a dialect reads its requests and writes its answers. */
export const dialectOf = (dialect: Dialect = 'chat'): Grammar => GRAMMARS[dialect]
