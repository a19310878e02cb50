import { composeAnswer, piecesOf } from '../chat/answer.ts'
import type { ChatAnswer, Tool } from '../chat/answer.ts'
import type { Exchange } from '../exchange.ts'
import type { Steering } from '../steering.ts'
import { asFields, asText } from '../wire.ts'
import type { Fields } from '../wire.ts'
import { isThinking } from './fields.ts'
import { redactedThought, signatureOf } from './signatures.ts'

/** One block of an answer: as it is whole, as it begins in a stream, and what is added to it there. */
export interface Block {
  readonly whole: Fields
  readonly begin: Fields
  readonly deltas: Iterable<Fields>
}

/** An answer in the form of the API. */
export interface Message {
  readonly blocks: readonly Block[]
  readonly stop: { readonly stop_reason: string | null; readonly stop_sequence: string | null }
  /** All output, in tokens. */
  readonly output: number
  /** Of it what was thought. */
  readonly thinking: number
}

const STOP_REASONS = { stop: 'end_turn', length: 'max_tokens', tool: 'tool_use', refusal: 'refusal' } as const
const THOUGHT = 'The user has written to the sandbox. It answers from its list, as calmly as always.'

/** Composes the answer to a valid request. */
export function composeMessage(exchange: Exchange, offered: readonly Tool[], betas: ReadonlySet<string>): Message {
  const { steering } = exchange
  const { fields } = exchange.body
  const { format } = asFields(fields['output_config'])
  const answer = composeAnswer({
    prompt: exchange.prompt,
    steering: calling(steering, asFields(fields['tool_choice'])),
    maxTokens: fields['max_tokens'] as number,
    tools: offered,
    schema: asFields(format)['schema'],
    stops: [fields['stop_sequences']].flat().map(asText).filter(Boolean),
  })
  // What was not answered is not counted.
  if (steering.empty) {
    return { blocks: [], stop: { stop_reason: null, stop_sequence: null }, output: answer.outputTokens, thinking: 0 }
  }
  const thoughts = isThinking(fields) ? thoughtsOf(exchange, betas) : { blocks: [], tokens: 0 }
  const { stoppedAt } = answer
  return {
    blocks: [...thoughts.blocks, ...textsOf(exchange, answer), ...callsOf(exchange, answer)],
    stop: {
      stop_reason: stoppedAt === undefined ? STOP_REASONS[answer.finish] : 'stop_sequence',
      stop_sequence: stoppedAt ?? null,
    },
    output: answer.outputTokens + thoughts.tokens,
    thinking: thoughts.tokens,
  }
}

/** The steering, with the calls that the request forces, forbids or limits. */
function calling(steering: Steering, choice: Fields): Steering {
  const { type, name, disable_parallel_tool_use: oneAtATime } = choice
  const { tool, tools, ...rest } = steering
  if (type === 'none') return rest
  if (type === 'tool') return { ...rest, tool: asText(name) }
  const isAny = type === 'any' && tool === undefined && tools === undefined
  if (isAny || (oneAtATime === true && tools !== undefined)) return { ...rest, tool: tool ?? '' }
  return steering
}

/** What it thinks: signed, without its words if the request omits them. */
function thoughtsOf({ body, steering }: Exchange, betas: ReadonlySet<string>): { blocks: Block[]; tokens: number } {
  const isOmitted = asFields(body.fields['thinking'])['display'] === 'omitted'
  const thought = steering.thoughts ?? THOUGHT
  const tokens = Math.ceil(thought.length / 4)
  const thinking = isOmitted ? '' : thought
  const signature = signatureOf(thinking)
  const counted = betas.has('thinking-token-count-2026-05-13')
  const words = thinking.match(/\s*\S+\s*$|\s*\S+/g) ?? (counted ? [''] : [])
  const count = isOmitted ? { estimated_tokens: tokens } : { estimated_tokens: null }
  const block = {
    whole: { type: 'thinking', thinking, signature },
    begin: { type: 'thinking', thinking: '', signature: '' },
    deltas: [
      ...words.map((word) => ({ type: 'thinking_delta', thinking: word, ...(counted && count) })),
      { type: 'signature_delta', signature },
    ],
  }
  const sealed = { type: 'redacted_thinking', data: redactedThought() }
  const redacted = steering['sealed-thoughts'] ? [{ whole: sealed, begin: sealed, deltas: [] }] : []
  return { blocks: [block, ...redacted], tokens }
}

/** An empty text is no block. */
function textsOf({ steering }: Exchange, answer: ChatAnswer): Block[] {
  const { text } = answer
  if (text === '') return []
  const deltas = Array.from(piecesOf(answer, steering), (piece) => ({ type: 'text_delta', text: piece }))
  return [{ whole: { type: 'text', text }, begin: { type: 'text', text: '' }, deltas }]
}

function callsOf({ state }: Exchange, { toolCalls }: ChatAnswer): Block[] {
  return toolCalls.map(({ name, arguments: args }) => {
    const call = { type: 'tool_use', id: state.ids.next('toolu'), name }
    const half = Math.ceil(args.length / 2)
    // A call without arguments has none in a stream.
    const pieces = args === '{}' ? [''] : ['', args.slice(0, half), args.slice(half)]
    return {
      whole: { ...call, input: JSON.parse(args) as unknown },
      begin: { ...call, input: {} },
      deltas: pieces.map((json) => ({ type: 'input_json_delta', partial_json: json })),
    }
  })
}
