import { composeAnswer, piecesOf, reportedTokens } from '../chat/answer.ts'
import type { ChatAnswer, TokenCounts, Tool, ToolCall } from '../chat/answer.ts'
import { countInputTokens, hasResult, lastUserText } from '../chat/conversation.ts'
import { isStreamed } from '../chat/quirks.ts'
import type { Exchange, Route } from '../exchange.ts'
import { admit, answer as send } from '../http/answer.ts'
import { event, stream } from '../http/stream.ts'
import type { StreamEvent } from '../http/stream.ts'
import { worded } from '../steering.ts'
import { asFields, asText, Refusal } from '../wire.ts'
import type { Fields } from '../wire.ts'
import { invalid } from './errors.ts'

/** How the servers that speak OpenAI's chat protocol differ. */
export interface ChatDialect {
  readonly path: string
  /** Fields that it adds to every answer and chunk. */
  readonly marks: Fields
  /** Fields that it adds to `usage`. */
  readonly usageExtras: (tokens: TokenCounts) => Fields
}

/** One answer that is being sent. */
interface Reply {
  readonly head: Fields
  readonly answer: ChatAnswer
  /** How many identical choices. */
  readonly n: number
  readonly usage: Fields | undefined
  readonly exchange: Exchange
}

const FINISH = { stop: 'stop', length: 'length', tool: 'tool_calls', refusal: 'stop' } as const
const REASONING_REFUSES = ['max_tokens', 'temperature', 'top_p']

/** The chat endpoint of OpenAI, or of a compatible server. */
export function chatRoute(dialect: ChatDialect): Route {
  return {
    method: 'POST',
    path: dialect.path,
    submission: ({ fields }) => ({ model: asText(fields['model']), prompt: lastUserText(fields['messages']) }),
    handle: (exchange) => completeChat(exchange, dialect),
  }
}

async function completeChat(exchange: Exchange, dialect: ChatDialect): Promise<void> {
  const { fields } = exchange.body
  const messages = checkedMessages(exchange)
  const n = checkedChoices(fields['n'])
  await admit(exchange, 'inline')
  const answer = composeAnswer({
    prompt: exchange.prompt,
    steering: exchange.steering,
    maxTokens: limitOf(fields),
    tools: toolsOf(fields['tools']),
    schema: schemaOf(fields['response_format']),
    stops: [fields['stop']].flat().map(asText).filter(Boolean),
    hasResult: hasResult(messages),
  })
  const counted = { input: countInputTokens(messages), output: answer.outputTokens * n }
  const reported = reportedTokens(exchange.steering, counted)
  const usage = reported && { ...usageOf(reported), ...dialect.usageExtras(reported) }
  const created = Math.floor(Date.now() / 1000)
  const head = { id: exchange.state.ids.next('chatcmpl'), created, model: exchange.model, ...dialect.marks }
  const reply = { head, answer, n: exchange.steering.empty ? 0 : n, usage, exchange }
  if (!isStreamed(fields['stream'] === true, exchange.steering.quirk)) return send(exchange, wholeReply(reply))
  const failure = exchange.protocol.envelope({
    status: 500,
    message: worded(exchange, 'The sandbox was asked to fail here.'),
  }).body
  return stream(exchange, eventsOf(reply), event(failure))
}

function checkedMessages({ model, body }: Exchange): readonly unknown[] {
  const messages = body.fields['messages']
  if (!model) throw invalid('you must provide a model parameter', 'model')
  if (!Array.isArray(messages) || messages.length === 0) throw invalid('messages must be a non-empty array', 'messages')
  if (model.includes('reasoning')) refuseSampling(body.fields)
  return messages
}

function refuseSampling(fields: Fields): void {
  const refused = REASONING_REFUSES.find((name) => fields[name] !== undefined)
  if (!refused) return
  const instead = refused === 'max_tokens' ? " Use 'max_completion_tokens' instead." : ''
  const message = `Unsupported parameter: '${refused}' is not supported with this model.${instead}`
  throw new Refusal({ status: 400, message, code: 'unsupported_parameter', param: refused })
}

function checkedChoices(n: unknown): number {
  if (n === undefined || n === null) return 1
  if (!Number.isInteger(n) || (n as number) < 1 || (n as number) > 128) throw invalid('n must be from 1 to 128', 'n')
  return n as number
}

function limitOf(fields: Fields): number {
  const limit = fields['max_completion_tokens'] ?? fields['max_tokens'] ?? Infinity
  if (typeof limit !== 'number' || limit < 1) throw invalid('max_tokens must be a positive number', 'max_tokens')
  return limit
}

function toolsOf(tools: unknown): Tool[] {
  if (!Array.isArray(tools)) return []
  return tools.map((tool) => {
    const { name, parameters } = asFields(asFields(tool)['function'])
    return { name: asText(name), schema: parameters }
  })
}

function schemaOf(format: unknown): unknown {
  const { type, json_schema: named } = asFields(format)
  if (type === 'json_object') return { type: 'object', properties: { answer: { type: 'string' } } }
  return type === 'json_schema' ? (asFields(named)['schema'] ?? {}) : undefined
}

function usageOf({ input, output, reasoning = 0 }: TokenCounts): Fields {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output + reasoning,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  }
}

function wholeReply({ head, answer, n, usage, exchange }: Reply): Fields {
  const refused = answer.finish === 'refusal'
  const calls = answer.toolCalls.map((call) => toolCall(exchange, call))
  const message = {
    role: 'assistant',
    ...thoughtsOf(exchange),
    content: refused || (answer.text === '' && calls.length > 0) ? null : answer.text,
    refusal: refused ? answer.text : null,
    ...(calls.length > 0 && { tool_calls: calls }),
  }
  const choices = Array.from({ length: n }, (_, index) => {
    return {
      index,
      message,
      logprobs: logprobsOf(exchange, message.content ?? ''),
      finish_reason: FINISH[answer.finish],
    }
  })
  return { ...head, object: 'chat.completion', choices, ...(usage && { usage }) }
}

/** The log probabilities of every word, where the request asks for them. */
function logprobsOf({ body: { fields } }: Exchange, text: string): Fields | null {
  if (fields['logprobs'] !== true || text === '') return null
  const { top_logprobs: top = 0 } = fields
  const content = (text.match(/\s*\S+/g) ?? []).map((token) => {
    const one = { token, logprob: -0.25, bytes: [...Buffer.from(token)] }
    return { ...one, top_logprobs: Array.from({ length: Number(top) }, () => one) }
  })
  return { content, refusal: null }
}

/** The reasoning of a model of a compatible server. */
function thoughtsOf({ steering: { thoughts } }: Exchange): Fields {
  return thoughts === undefined ? {} : { reasoning_content: thoughts }
}

function toolCall(exchange: Exchange, call: ToolCall): Fields {
  return { id: exchange.state.ids.next('call'), type: 'function', function: call }
}

function* eventsOf(reply: Reply): Generator<StreamEvent> {
  const { head, answer, n, usage, exchange } = reply
  const options = asFields(exchange.body.fields['stream_options'])
  const withUsage = options['include_usage'] === true
  const before = withUsage ? { usage: null } : {}
  const chunk = (more: Fields): string => event({ ...head, object: 'chat.completion.chunk', ...before, ...more })
  const choice = (index: number, delta: Fields, finish: string | null = null): string => {
    const choices = [{ index, delta, logprobs: logprobsOf(exchange, asText(delta['content'])), finish_reason: finish }]
    // The real API pads chunks to hide the length of their text; here the field is only present.
    return chunk(options['include_obfuscation'] === false ? { choices } : { choices, obfuscation: 'sandbox' })
  }
  const indexes = Array.from({ length: n }, (_, index) => index)
  for (const index of indexes) yield { text: choice(index, { role: 'assistant', content: '', refusal: null }) }
  for (const delta of deltasOf(reply)) {
    for (const index of indexes) yield { text: choice(index, delta), content: true }
  }
  for (const index of indexes) yield { text: choice(index, {}, FINISH[answer.finish]) }
  if (withUsage && usage) yield { text: chunk({ choices: [], usage }) }
  if (!exchange.steering['no-done']) yield { text: 'data: [DONE]\n\n' }
}

/** The deltas of one choice between the first and the last. */
function* deltasOf({ answer, exchange }: Reply): Generator<Fields> {
  if (exchange.steering.thoughts !== undefined) yield thoughtsOf(exchange)
  if (answer.text !== '' || answer.toolCalls.length === 0) {
    const field = answer.finish === 'refusal' ? 'refusal' : 'content'
    for (const piece of piecesOf(answer, exchange.steering)) yield { [field]: piece }
  }
  for (const [index, { name, arguments: args }] of answer.toolCalls.entries()) {
    const half = Math.ceil(args.length / 2)
    yield { tool_calls: [{ index, ...toolCall(exchange, { name, arguments: '' }) }] }
    yield { tool_calls: [{ index, function: { arguments: args.slice(0, half) } }] }
    yield { tool_calls: [{ index, function: { arguments: args.slice(half) } }] }
  }
}
