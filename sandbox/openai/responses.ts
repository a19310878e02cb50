import { composeAnswer, piecesOf, reportedTokens } from '../chat/answer.ts'
import type { ChatAnswer, ToolCall, TokenCounts, Tool } from '../chat/answer.ts'
import { countInputTokens, hasResult, lastUserText } from '../chat/conversation.ts'
import { isStreamed } from '../chat/quirks.ts'
import type { Exchange, Route } from '../exchange.ts'
import { admit, answer as send } from '../http/answer.ts'
import { event, stream } from '../http/stream.ts'
import type { StreamEvent } from '../http/stream.ts'
import { worded } from '../steering.ts'
import { asFields, asText } from '../wire.ts'
import type { Fields } from '../wire.ts'
import { invalid } from './errors.ts'

/** `POST /v1/responses`, whole or streamed. Its last event ends the response: there is no other end. */
export const responsesRoute: Route = {
  method: 'POST',
  path: '/v1/responses',
  submission: ({ fields }) => ({ model: asText(fields['model']), prompt: lastUserText(itemsOf(fields['input'])) }),
  handle: createResponse,
}

/** A text as input is a message of the user. */
const itemsOf = (input: unknown): unknown[] => (Array.isArray(input) ? input : [{ role: 'user', content: input }])

async function createResponse(exchange: Exchange): Promise<void> {
  const { steering } = exchange
  const { fields } = exchange.body
  if (!exchange.model) throw invalid('you must provide a model parameter', 'model')
  const items = itemsOf(fields['input'])
  checkItems(items)
  const limit = fields['max_output_tokens'] ?? Infinity
  if (typeof limit !== 'number' || limit < 1)
    throw invalid('max_output_tokens must be a positive number', 'max_output_tokens')
  await admit(exchange, 'inline')
  const tools = [...toolsOf(fields['tools']), ...items.flatMap((item) => toolsOf(asFields(item)['tools']))]
  const schema = schemaOf(asFields(fields['text'])['format'])
  const answer = composeAnswer({
    prompt: exchange.prompt,
    steering,
    maxTokens: limit,
    tools,
    schema,
    hasResult: hasResult(items),
  })
  const counted = { input: countInputTokens(items), output: answer.outputTokens }
  const tokens = steering.empty ? undefined : reportedTokens(steering, counted)
  const reply = { exchange, answer, tokens, id: exchange.state.ids.next('resp'), tools }
  if (!isStreamed(fields['stream'] === true, steering.quirk)) return send(exchange, wholeResponse(reply))
  const message = worded(exchange, 'The sandbox was asked to fail here.')
  const response = { ...shell(reply), status: 'failed', error: { code: 'server_error', message } }
  return stream(exchange, eventsOf(reply), event({ type: 'response.failed', response }, 'response.failed'))
}

/** What the API refuses of items: outputs without a call, and thoughts that it did not seal. */
function checkItems(items: readonly unknown[]): void {
  if (items.length === 0) throw invalid('input must not be empty', 'input')
  const called = new Set<unknown>()
  for (const [at, item] of items.entries()) {
    const { type, call_id: id, encrypted_content: sealed } = asFields(item)
    if (type === 'function_call' || type === 'custom_tool_call') called.add(id)
    if (String(type).endsWith('_output') && !called.has(id))
      throw invalid(`No tool call found for function call output with call_id ${String(id)}.`, 'input')
    if (type === 'reasoning' && !asText(sealed).startsWith(SEAL))
      throw invalid(`The encrypted content of input[${at}] could not be verified.`, 'input')
  }
}

/** What the sandbox's own sealed thoughts begin with. */
const SEAL = 'sandbox-thought-'

function toolsOf(tools: unknown): (Tool & { isCustom: boolean; namespace?: string })[] {
  if (!Array.isArray(tools)) return []
  return tools.flatMap((tool) => {
    const { type, name, parameters, tools: members } = asFields(tool)
    if (type === 'namespace') return toolsOf(members).map((member) => ({ ...member, namespace: asText(name) }))
    const isCustom = type === 'custom'
    return [{ name: asText(name), schema: isCustom ? { type: 'string' } : parameters, isCustom }]
  })
}

function schemaOf(format: unknown): unknown {
  const { type, schema } = asFields(format)
  if (type === 'json_object') return { type: 'object', properties: { answer: { type: 'string' } } }
  return type === 'json_schema' ? (schema ?? {}) : undefined
}

interface Reply {
  readonly exchange: Exchange
  readonly answer: ChatAnswer
  readonly tokens: TokenCounts | undefined
  readonly id: string
  readonly tools: ReturnType<typeof toolsOf>
}

function shell({ exchange, id }: Reply): Fields {
  const { fields } = exchange.body
  const { instructions = null, tools = [], store = true, temperature = 1 } = fields
  const created = Math.floor(Date.now() / 1000)
  const echoes = { instructions, tools, store, temperature, model: exchange.model, metadata: fields['metadata'] ?? {} }
  const base = { id, object: 'response', created_at: created, status: 'in_progress', error: null, ...echoes }
  return { ...base, incomplete_details: null, output: [], parallel_tool_calls: true, tool_choice: 'auto', usage: null }
}

const usageOf = ({ input, output, reasoning = 0 }: TokenCounts): Fields => ({
  input_tokens: input,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  output_tokens: output + reasoning,
  output_tokens_details: { reasoning_tokens: reasoning },
  total_tokens: input + output + reasoning,
})

function wholeResponse(reply: Reply): Fields {
  const isCut = reply.answer.finish === 'length'
  return {
    ...shell(reply),
    status: isCut ? 'incomplete' : 'completed',
    incomplete_details: isCut ? { reason: 'max_output_tokens' } : null,
    output: itemsIn(reply),
    usage: reply.tokens ? usageOf(reply.tokens) : null,
  }
}

/** The items of an answer. With `[reasoning]`, the thought before it, sealed where that was asked for. */
function itemsIn({ exchange, answer, tools }: Reply): Fields[] {
  const { steering, state, body } = exchange
  if (steering.empty) return []
  const include = body.fields['include']
  const isSealed = Array.isArray(include) && include.includes('reasoning.encrypted_content')
  const thought = {
    id: state.ids.next('rs'),
    type: 'reasoning',
    summary: [{ type: 'summary_text', text: 'Thinking.' }],
    ...(isSealed && { encrypted_content: `${SEAL}${exchange.prompt.length}` }),
  }
  return [...(steering.reasoning === undefined ? [] : [thought]), ...wordsOf(exchange, answer, tools)]
}

function wordsOf({ state }: Exchange, { text, toolCalls, finish }: ChatAnswer, tools: Reply['tools']): Fields[] {
  const part =
    finish === 'refusal' ? { type: 'refusal', refusal: text } : { type: 'output_text', text, annotations: [] }
  const message = { type: 'message', status: 'completed', role: 'assistant', content: [part] }
  return [
    ...(text === '' ? [] : [{ id: state.ids.next('msg'), ...message }]),
    ...toolCalls.map((call) => itemOf(call, state, tools)),
  ]
}

function itemOf({ name, arguments: args }: ToolCall, { ids }: Exchange['state'], tools: Reply['tools']): Fields {
  const { isCustom, namespace } = tools.find((tool) => tool.name === name)!
  const called = { call_id: ids.next('call'), name, ...(namespace && { namespace }), status: 'completed' }
  return isCustom
    ? { id: ids.next('ctc'), type: 'custom_tool_call', ...called, input: JSON.parse(args) as unknown }
    : { id: ids.next('fc'), type: 'function_call', ...called, arguments: args }
}

function* eventsOf(reply: Reply): Generator<StreamEvent> {
  const whole = wholeResponse(reply)
  const items = whole['output'] as Fields[]
  let number = 0
  const named = (type: string, more: Fields): string => event({ type, sequence_number: number++, ...more }, type)
  yield { text: named('response.created', { response: shell(reply) }) }
  yield { text: named('response.in_progress', { response: shell(reply) }) }
  yield { text: named('keepalive', {}) }
  for (const [index, item] of items.entries()) yield* itemEvents(reply, { item, index }, named)
  yield { text: named(`response.${String(whole['status'])}`, { response: whole }) }
}

/** How the words of an item are sent: the event, the field, and the place of its part. */
function toldAs(item: Fields): { name: string; field: string; at: Fields; part?: Fields } {
  if (item['type'] === 'function_call') return { name: 'function_call_arguments', field: 'arguments', at: {} }
  if (item['type'] === 'custom_tool_call') return { name: 'custom_tool_call_input', field: 'input', at: {} }
  const isThought = item['type'] === 'reasoning'
  const part = asFields((item[isThought ? 'summary' : 'content'] as unknown[])[0])
  if (isThought) return { name: 'reasoning_summary_text', field: 'text', at: { summary_index: 0 }, part }
  const isRefusal = part['type'] === 'refusal'
  const [name, field] = isRefusal ? ['refusal', 'refusal'] : ['output_text', 'text']
  return { name, field, at: { content_index: 0 }, part }
}

function* itemEvents(
  { exchange, answer }: Reply,
  { item, index }: { item: Fields; index: number },
  named: (type: string, more: Fields) => string,
): Generator<StreamEvent> {
  const { name, field, at, part } = toldAs(item)
  const place = { item_id: item['id'], output_index: index, ...at }
  const group = item['type'] === 'reasoning' ? 'reasoning_summary_part' : 'content_part'
  const text = asText((part ?? item)[field])
  const blank = part ? { [item['type'] === 'reasoning' ? 'summary' : 'content']: [] } : { [field]: '' }
  const { encrypted_content: _sealed, ...begun } = { ...item, ...blank, status: 'in_progress' } as Fields
  yield { text: named('response.output_item.added', { output_index: index, item: begun }) }
  if (part) yield { text: named(`response.${group}.added`, { ...place, part: { ...part, [field]: '' } }) }
  const half = Math.ceil(text.length / 2)
  const pieces = text === answer.text ? piecesOf(answer, exchange.steering) : [text.slice(0, half), text.slice(half)]
  for (const delta of pieces) yield { text: named(`response.${name}.delta`, { ...place, delta }), content: true }
  const called = item['type'] === 'function_call' ? { name: item['name'] } : {}
  yield { text: named(`response.${name}.done`, { ...place, [field]: text, ...called }) }
  if (part) yield { text: named(`response.${group}.done`, { ...place, part }) }
  yield { text: named('response.output_item.done', { output_index: index, item }) }
}
