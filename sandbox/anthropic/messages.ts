import { lastUserText } from '../chat/conversation.ts'
import { isStreamed } from '../chat/quirks.ts'
import type { Exchange, Route } from '../exchange.ts'
import { admit, answer as send } from '../http/answer.ts'
import { event, stream } from '../http/stream.ts'
import type { StreamEvent } from '../http/stream.ts'
import { worded } from '../steering.ts'
import { asText } from '../wire.ts'
import type { Fields } from '../wire.ts'
import { composeMessage } from './answer.ts'
import type { Message } from './answer.ts'
import { checkHeaders } from './headers.ts'
import { inputTokens } from './cache.ts'
import { checkCreated } from './fields.ts'
import { checkTools } from './tools.ts'
import { checkTurns } from './turns.ts'
import { usageOf } from './usage.ts'

/** An answer that is being sent. */
interface Reply {
  readonly head: Fields
  readonly message: Message
  readonly usage: Fields | undefined
}

/** `POST /v1/messages`, whole or streamed. */
export const messagesRoute: Route = {
  method: 'POST',
  path: '/anthropic/v1/messages',
  submission: ({ fields }) => ({ model: asText(fields['model']), prompt: lastUserText(fields['messages']) }),
  handle: createMessage,
}

/** Each key has a cache of its own, for each model. */
const cacheOf = ({ model, protocol, req }: Exchange): string => `${protocol.keyOf?.(req.headers) ?? ''} ${model}`

async function createMessage(exchange: Exchange): Promise<void> {
  const { req, body, model, steering, state, protocol } = exchange
  const { fields } = body
  const betas = checkHeaders(req.headers, fields)
  checkCreated(model, fields)
  checkTurns(model, fields['messages'])
  const tools = checkTools(fields)
  await admit(exchange, 'inline')
  const message = composeMessage(exchange, tools, betas)
  const { output, thinking } = message
  const used = { input: inputTokens(fields), cached: state.prompts.take(cacheOf(exchange), fields), output, thinking }
  const head = { id: state.ids.next('msg'), type: 'message', role: 'assistant', model }
  const reply = { head, message, usage: steering.empty ? undefined : usageOf(used, steering) }
  if (!isStreamed(fields['stream'] === true, steering.quirk)) return send(exchange, wholeMessage(reply))
  const failure = protocol.envelope({ status: 529, message: worded(exchange, 'Overloaded') }).body
  return stream(exchange, eventsOf(exchange, reply), event(failure, 'error'))
}

function wholeMessage({ head, message: { blocks, stop }, usage }: Reply): Fields {
  return { ...head, content: blocks.map(({ whole }) => whole), ...stop, ...(usage && { usage }) }
}

function* eventsOf({ steering }: Exchange, { head, message: { blocks, stop }, usage }: Reply): Generator<StreamEvent> {
  const named = (type: string, more: Fields): string => event({ type, ...more }, type)
  // The final count of the output comes with message_delta; until then it is 1.
  const begun = usage && { usage: { ...usage, output_tokens: Math.min(1, Number(usage['output_tokens'])) } }
  const message = { ...head, content: [], stop_reason: null, stop_sequence: null, ...begun }
  yield { text: named('message_start', { message }) }
  for (const [index, { begin, deltas }] of blocks.entries()) {
    yield { text: named('content_block_start', { index, content_block: begin }) }
    if (index === 0) yield { text: named('ping', {}) }
    for (const delta of deltas) yield { text: named('content_block_delta', { index, delta }), content: true }
    yield { text: named('content_block_stop', { index }) }
  }
  yield { text: named('message_delta', { delta: stop, ...(usage && { usage: finalUsage(usage) }) }) }
  if (!steering['no-done']) yield { text: named('message_stop', {}) }
}

/** The counts at the end are cumulative. */
function finalUsage({ cache_creation: _lives, service_tier: _tier, ...counts }: Fields): Fields {
  return counts
}
