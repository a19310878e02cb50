import { composeAnswer, piecesOf, reportedTokens } from '../chat/answer.ts'
import type { ChatAnswer, TokenCounts, Tool } from '../chat/answer.ts'
import { contentText, countInputTokens, lastUserText } from '../chat/conversation.ts'
import { isStreamed } from '../chat/quirks.ts'
import type { Exchange, Route } from '../exchange.ts'
import { admit, answer as send } from '../http/answer.ts'
import { event, stream } from '../http/stream.ts'
import type { StreamEvent } from '../http/stream.ts'
import { worded } from '../steering.ts'
import { asFields, asText } from '../wire.ts'
import type { Fields } from '../wire.ts'
import { checkMessages, checkSampling, checkTools, invalid } from './checks.ts'

const STOP_REASONS = { stop: 'end_turn', length: 'max_tokens', tool: 'tool_use', refusal: 'refusal' } as const

/** `POST /v1/messages`, whole or streamed. */
export const messagesRoute: Route = {
  method: 'POST',
  path: '/anthropic/v1/messages',
  submission: ({ fields }) => ({ model: asText(fields['model']), prompt: lastUserText(fields['messages']) }),
  handle: createMessage,
}

async function createMessage(exchange: Exchange): Promise<void> {
  const {
    body: { fields },
    steering,
  } = exchange
  if (!exchange.req.headers['anthropic-version']) throw invalid('anthropic-version: header is required')
  if (!exchange.model) throw invalid('model: Field required')
  const maxTokens = fields['max_tokens']
  if (!Number.isInteger(maxTokens) || (maxTokens as number) < 1) throw invalid('max_tokens: Field required')
  const messages = checkMessages(fields['messages'])
  checkTools(fields['tools'])
  checkSampling(exchange.model, fields)
  await admit(exchange, 'inline')
  const tools = toolsOf(fields['tools'])
  const answer = composeAnswer({ prompt: exchange.prompt, steering, maxTokens: maxTokens as number, tools })
  const system = Math.ceil(contentText(fields['system']).length / 4)
  const counted = { input: countInputTokens(messages) + system, output: answer.outputTokens }
  // What was not answered is not counted.
  const tokens = steering.empty ? undefined : reportedTokens(steering, counted)
  if (!isStreamed(fields['stream'] === true, steering.quirk))
    return send(exchange, wholeMessage(exchange, answer, tokens))
  const failure = exchange.protocol.envelope({ status: 529, message: worded(exchange, 'Overloaded') }).body
  return stream(exchange, eventsOf(exchange, answer, tokens), event(failure, 'error'))
}

function toolsOf(tools: unknown): Tool[] {
  if (!Array.isArray(tools)) return []
  return tools.map((tool) => ({ name: asText(asFields(tool)['name']), schema: asFields(tool)['input_schema'] }))
}

function usageOf(tokens: TokenCounts | undefined): Fields {
  if (!tokens) return {}
  return {
    usage: {
      input_tokens: tokens.input,
      output_tokens: tokens.output,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
    },
  }
}

function shell(exchange: Exchange): Fields {
  return { id: exchange.state.ids.next('msg'), type: 'message', role: 'assistant', model: exchange.model }
}

function wholeMessage(exchange: Exchange, answer: ChatAnswer, tokens: TokenCounts | undefined): Fields {
  return {
    ...shell(exchange),
    content: isSilent(exchange, answer) ? [] : [wholeBlock(exchange, answer)],
    stop_reason: exchange.steering.empty ? null : STOP_REASONS[answer.finish],
    stop_sequence: null,
    ...usageOf(tokens),
  }
}

/** A model that says nothing returns no block. */
function isSilent({ steering }: Exchange, { text, toolCall }: ChatAnswer): boolean {
  return steering.empty === true || (text === '' && !toolCall)
}

function wholeBlock(exchange: Exchange, { text, toolCall }: ChatAnswer): Fields {
  if (!toolCall) return { type: 'text', text }
  const input: unknown = JSON.parse(toolCall.arguments)
  return { type: 'tool_use', id: exchange.state.ids.next('toolu'), name: toolCall.name, input }
}

function* eventsOf(exchange: Exchange, answer: ChatAnswer, tokens: TokenCounts | undefined): Generator<StreamEvent> {
  const named = (type: string, more: Fields): string => event({ type, ...more }, type)
  // The final count of the output comes with message_delta; until then it is 1.
  const begun = tokens && { input: tokens.input, output: Math.min(1, tokens.output) }
  const message = { ...shell(exchange), content: [], stop_reason: null, stop_sequence: null, ...usageOf(begun) }
  yield { text: named('message_start', { message }) }
  if (!isSilent(exchange, answer)) {
    yield { text: named('content_block_start', { index: 0, content_block: openBlock(exchange, answer) }) }
    yield { text: named('ping', {}) }
    for (const delta of deltasOf(exchange, answer)) {
      yield { text: named('content_block_delta', { index: 0, delta }), content: true }
    }
    yield { text: named('content_block_stop', { index: 0 }) }
  }
  const reason = exchange.steering.empty ? null : STOP_REASONS[answer.finish]
  const delta = { stop_reason: reason, stop_sequence: null }
  yield { text: named('message_delta', { delta, ...(tokens && { usage: { output_tokens: tokens.output } }) }) }
  if (!exchange.steering['no-done']) yield { text: named('message_stop', {}) }
}

function openBlock(exchange: Exchange, { toolCall }: ChatAnswer): Fields {
  if (!toolCall) return { type: 'text', text: '' }
  return { type: 'tool_use', id: exchange.state.ids.next('toolu'), name: toolCall.name, input: {} }
}

function* deltasOf(exchange: Exchange, answer: ChatAnswer): Generator<Fields> {
  if (!answer.toolCall) {
    for (const text of piecesOf(answer, exchange.steering)) yield { type: 'text_delta', text }
    return
  }
  const args = answer.toolCall.arguments
  const half = Math.ceil(args.length / 2)
  yield { type: 'input_json_delta', partial_json: '' }
  yield { type: 'input_json_delta', partial_json: args.slice(0, half) }
  yield { type: 'input_json_delta', partial_json: args.slice(half) }
}
