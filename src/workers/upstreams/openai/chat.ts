/**
 * Chat completions of OpenAI's kind, passed on with as little change as possible: every field of the list of those that
 * pass, and whatever the answer holds.
 */
import { randomUUID } from 'node:crypto'
import type { ChatCompletion } from '../../../shared/calls/answers.ts'
import { passingFields } from '../../../shared/calls/chat-fields.ts'
import type { ChatRequest } from '../../../shared/calls/requests.ts'
import type { ChatAdapter, ChatEvent, ChatResult, UpstreamContext } from '../adapter.ts'
import { AnswerTooLong } from '../adapter.ts'
import { applyRules } from '../body-rules.ts'
import { readCut } from '../cut-json.ts'
import { billed, failureIn, malformedAnswer } from '../failures.ts'
import { asFields, isFields, isText } from '../fields.ts'
import type { Fields } from '../fields.ts'
import { parseJson, readWhole } from '../http.ts'
import type { UpstreamHttp } from '../http.ts'
import { readEvents } from '../sse.ts'
import { takeUsage } from '../usage.ts'

const DONE = '[DONE]'

/** The chat of every server that speaks OpenAI's wire format. */
export function createOpenaiChat(http: UpstreamHttp): ChatAdapter {
  const post = (json: Fields) => ({ method: 'POST', path: '/chat/completions', body: { json } }) as const
  return {
    chat: (request, context) =>
      resultOf(() => http.json({ ...post(outgoing(request, context, false)), kind: 'chat' }, context)),

    async *streamChat(request, context) {
      const json = outgoing(request, context, true)
      const body = await http.body({ ...post(json), kind: 'stream', headers: { accept: 'text/event-stream' } }, context)
      if (body.isJson) yield* eventsOf(await resultOf(() => readWhole(body)))
      else yield* chunksOf(readEvents(body, (event) => event.data === DONE))
    },
  }
}

/**
 * The body that is sent. `max_tokens` is what the pre-charge paid for: its other name must not say more. The usage of
 * a stream is always asked for, because the call is settled on it.
 */
function outgoing(request: ChatRequest, { route }: UpstreamContext, stream: boolean): Fields {
  const {
    max_completion_tokens: _other,
    stream_options: options,
    stream: _stream,
    ...rest
  } = passingFields(request, route.allow)
  return applyRules(
    {
      ...rest,
      model: route.model,
      ...(stream && { stream: true, stream_options: { ...asFields(options), include_usage: true } }),
    },
    route,
  )
}

/** An answer that comes whole, or what was taken of one that is too long. @throws UpstreamError where it is none */
async function resultOf(read: () => Promise<Fields>): Promise<ChatResult> {
  let answer: Fields
  try {
    answer = await read()
  } catch (error) {
    if (!(error instanceof AnswerTooLong)) throw error
    const cut = takeUsage(readCut(error.text)).rest
    const begun = Array.isArray(cut.choices) ? cut.choices.filter((choice) => isFields(asFields(choice).message)) : []
    return { completion: completionOf({ ...cut, choices: begun }, 'length', false), usage: null, isCut: true }
  }
  const { usage, rest } = takeUsage(answer)
  return billed(usage, () => {
    const failure = failureIn(rest)
    if (failure) throw failure
    return { completion: completionOf(rest, 'stop', usage !== null), usage }
  })
}

/** A whole answer as a stream: its reader asked for one, and its upstream makes none. */
function* eventsOf({ completion: { choices, ...head }, usage, isCut }: ChatResult): Generator<ChatEvent> {
  const pieces = choices.map(({ message, ...choice }) => ({ ...choice, delta: deltaOf(asFields(message)) }))
  yield { type: 'chunk', chunk: { ...head, object: 'chat.completion.chunk', choices: pieces } }
  if (usage) yield { type: 'usage', usage }
  if (isCut) throw new AnswerTooLong('the answer was cut')
}

const deltaOf = ({ tool_calls: calls, ...message }: Fields): Fields => ({
  ...message,
  ...(Array.isArray(calls) && { tool_calls: calls.map((call, index) => ({ index, ...asFields(call) })) }),
})

const now = (): number => Math.floor(Date.now() / 1000)

/**
 * The completion of an answer whose usage was taken. @throws UpstreamError `unknown` where it has no choice, or one
 * that is none
 * @param end the finish_reason of choices that name none
 * @param isCounted whether usage was reported
 */
function completionOf(answer: Fields, end: 'stop' | 'length', isCounted: boolean): ChatCompletion {
  const { choices } = answer
  if (!Array.isArray(choices) || choices.length === 0) throw malformedAnswer('the answer has no choices')
  return {
    ...answer,
    id: isText(answer.id) ? answer.id : `chatcmpl-${randomUUID()}`,
    object: 'chat.completion',
    created: Number.isInteger(answer.created) ? (answer.created as number) : now(),
    choices: choices.map((choice, at) => choiceOf(choice, at, end, isCounted)),
  }
}

/** A text, parts of one, or nothing. */
const isContent = (value: unknown): boolean =>
  value === undefined || value === null || typeof value === 'string' || Array.isArray(value)

const isListOfFields = (value: unknown): value is Fields[] => Array.isArray(value) && value.every(isFields)

/** @param isCounted whether usage was reported: with it and a finish_reason, a choice that says nothing is an answer */
function choiceOf(value: unknown, at: number, end: string, isCounted: boolean): Fields {
  const choice = asFields(value)
  const message = choice.message ?? (isCounted && isText(choice.finish_reason) ? {} : undefined)
  if (!isFields(message)) throw malformedAnswer('a choice has no message')
  const { role, content, ...rest } = message
  if (!isContent(content)) throw malformedAnswer('a message has a content that is no text')
  if (rest.tool_calls !== undefined && rest.tool_calls !== null && !isListOfFields(rest.tool_calls)) {
    throw malformedAnswer('a message has calls of tools that are none')
  }
  return {
    ...choice,
    index: Number.isInteger(choice.index) ? choice.index : at,
    message: { role: typeof role === 'string' ? role : 'assistant', content: content ?? null, ...rest },
    finish_reason: typeof choice.finish_reason === 'string' ? choice.finish_reason : end,
  }
}

/**
 * The chunks of a stream and its usage. Chunks without choices carry only usage or the upstream's own notes, and
 * clients read `choices[0]`: they are left out. Every choice ends with a finish_reason, which some servers forget:
 * without one a reader cannot distinguish an end from a loss.
 * A usage may be reported more than once.
 * @throws UpstreamError for an error object, for a stream that is cut off, and for one without any chunk
 */
async function* chunksOf(events: AsyncIterable<{ data: string }>): AsyncGenerator<ChatEvent> {
  const ends = new Map<number, boolean>()
  let head: Fields | null = null
  let isDone = false
  for await (const { data } of events) {
    isDone = data === DONE
    if (isDone) break
    const { usage, rest: event } = takeUsage(asFields(parseJson(data)))
    const { choices, ...rest } = event
    const failure = failureIn(rest)
    if (failure) throw failure
    if (Array.isArray(choices) && choices.length > 0) {
      head = { ...rest, object: 'chat.completion.chunk' }
      yield { type: 'chunk', chunk: { ...head, choices: choices.map((choice) => pieceOf(ends, choice)) } }
    }
    if (usage) yield { type: 'usage', usage }
  }
  const open = [...ends.keys()].filter((index) => !ends.get(index))
  if (!head) throw malformedAnswer('the stream has no choices')
  if (!isDone && open.length > 0) throw malformedAnswer('the stream was cut off')
  if (open.length > 0) {
    const choices = open.map((index) => ({ index, delta: {}, finish_reason: 'stop' }))
    yield { type: 'chunk', chunk: { ...head, choices } }
  }
}

/** The largest index of a choice or a tool call: whoever puts chunks together makes an array as long as that. */
const MAX_INDEX = 1000

/**
 * A choice of a chunk, as clients can read it. Keeps which choices have begun, and whether they have ended.
 * @throws UpstreamError `unknown` for what is no choice; AnswerTooLong where more tools are called than any answer may:
 * a customer can have a model do so, and what was delivered before is paid
 */
function pieceOf(ends: Map<number, boolean>, choice: unknown): Fields {
  if (!isFields(choice)) throw malformedAnswer('the stream has a choice that is none')
  const { index = 0, finish_reason: end } = choice
  const delta = asFields(choice.delta)
  const calls = delta.tool_calls ?? []
  if (isListOfFields(calls) && calls.some((call) => call.index === MAX_INDEX + 1)) {
    throw new AnswerTooLong(`the answer calls more than ${MAX_INDEX + 1} tools`)
  }
  if (!isIndex(index) || !isListOfFields(calls) || !calls.every((call) => isIndex(call.index ?? 0))) {
    throw malformedAnswer('the stream has a choice or a call of a tool without a sane number')
  }
  if (!isContent(delta.content)) throw malformedAnswer('a piece of the stream is no text')
  ends.set(index, isText(end) || ends.get(index) === true)
  return { ...choice, delta }
}

const isIndex = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MAX_INDEX
