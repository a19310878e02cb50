import { FILLER_MARK, fillerPieces, INVALID_MARK } from '../http/outlet.ts'
import { withoutSteering } from '../steering.ts'
import type { Steering } from '../steering.ts'
import { sampleOf } from './sample.ts'
import { asFields } from '../wire.ts'

/** A tool that the model may call, whichever protocol offered it. */
export interface Tool {
  readonly name: string
  /** JSON schema of its arguments. */
  readonly schema: unknown
}

/** What a chat request asks for, whichever protocol it came by. */
export interface ChatOrder {
  readonly prompt: string
  readonly steering: Steering
  /** The most words of the answer. */
  readonly maxTokens: number
  readonly tools: readonly Tool[]
  /** JSON schema of the answer, where JSON was asked for. */
  readonly schema?: unknown
  /** Texts at which the answer ends, before the first of them. */
  readonly stops?: readonly string[]
  /** Whether a tool has answered since the user spoke. */
  readonly hasResult?: boolean
}

/** A call of a tool. */
export interface ToolCall {
  readonly name: string
  /** JSON. */
  readonly arguments: string
}

/** What the model returns: a text, calls of tools, or both, the text first. */
export interface ChatAnswer {
  readonly text: string
  readonly toolCalls: readonly ToolCall[]
  readonly finish: 'stop' | 'length' | 'tool' | 'refusal'
  /** The text that the answer ended at, where it was one of `stops`. */
  readonly stoppedAt?: string
  /** Words. */
  readonly outputTokens: number
}

/** Token counts as they are reported. */
export interface TokenCounts {
  readonly input: number
  readonly output: number
  /** In addition to the output. */
  readonly reasoning?: number
}

const DEFAULT_TEXT =
  'Hello from the sandbox upstream! I am no model at all, only a small and patient server that speaks ' +
  'like one, so that you can try everything here without spending anything. Your message has arrived in one piece.'
const MULTIBYTE = 'Grüße, 你好 und 😀: '
const VOCABULARY = ['the', 'sandbox', 'keeps', 'counting', 'words', 'as', 'calmly', 'as', 'a', 'tide']

/** Composes the answer. The same request gets the same answer. */
export function composeAnswer(order: ChatOrder): ChatAnswer {
  const { steering } = order
  if (steering.refusal) {
    return { text: 'I am sorry, but the sandbox declines.', toolCalls: [], finish: 'refusal', outputTokens: 7 }
  }
  const toolCalls = chosenTools(order).map((tool) => ({ name: tool.name, arguments: argumentsOf(tool, steering) }))
  if (toolCalls.length > 0) {
    const text = steering.answer ?? ''
    const ofCalls = toolCalls.reduce((sum, call) => sum + Math.ceil(call.arguments.length / 4), 0)
    return { text, toolCalls, finish: 'tool', outputTokens: wordsOf(text).length + ofCalls }
  }
  const { text, stoppedAt } = stopped(textOf(order), order.stops ?? [])
  const words = wordsOf(text)
  const kept = words.slice(0, order.maxTokens)
  const isCut = kept.length < words.length
  return {
    text: kept.join(''),
    toolCalls: [],
    finish: isCut ? 'length' : 'stop',
    ...(!isCut && stoppedAt !== undefined && { stoppedAt }),
    outputTokens: kept.length,
  }
}

/** The text up to the first of these, and which that was. */
function stopped(text: string, stops: readonly string[]): { text: string; stoppedAt?: string } {
  const found = stops
    .map((stop) => ({ stop, at: text.indexOf(stop) }))
    .filter(({ at }) => at >= 0)
    .toSorted((one, other) => one.at - other.at)[0]
  return found ? { text: text.slice(0, found.at), stoppedAt: found.stop } : { text }
}

/** The pieces in which an answer is streamed: single words, or as many chunks as the steering asks for. */
export function piecesOf(answer: ChatAnswer, steering: Steering): Iterable<string> {
  if (steering.big !== undefined) return fillerPieces(steering.big)
  const words = wordsOf(answer.text)
  const wanted = steering.chunks?.[0]
  if (wanted === undefined || wanted === 0) return words
  // More chunks than words were asked for: the answer is cut into characters.
  const parts = words.length >= wanted ? words : Array.from(answer.text)
  const used = Math.min(wanted, parts.length)
  return Array.from({ length: used }, (_, at) => {
    return parts.slice(Math.floor((at * parts.length) / used), Math.floor(((at + 1) * parts.length) / used)).join('')
  })
}

/** The counts to report: the real ones, or the steered ones; undefined for none. */
export function reportedTokens(steering: Steering, counted: TokenCounts): TokenCounts | undefined {
  if (steering['no-usage']) return undefined
  if (steering['usage-negative']) return { input: -counted.input, output: -counted.output }
  if (steering['usage-huge']) return { input: Number.MAX_SAFE_INTEGER, output: Number.MAX_SAFE_INTEGER }
  const { input, output } = steering.usage ? { input: steering.usage[0], output: steering.usage[1] } : counted
  return { input, output, ...(steering.reasoning && { reasoning: steering.reasoning }) }
}

/** The arguments of a call: the text of `[call]`, in the form that the tool takes, or a sample. */
function argumentsOf({ schema }: Tool, { call }: Steering): string {
  if (!call) return JSON.stringify(sampleOf(schema))
  if (call.text.startsWith('{')) return call.text
  return JSON.stringify(asFields(schema)['type'] === 'string' ? call.text : { input: call.text })
}

function chosenTools({ steering, tools, hasResult }: ChatOrder): Tool[] {
  const { call, tool: name, tools: count } = steering
  if (call) return hasResult ? [] : tools.filter((tool) => tool.name === call.name).slice(0, 1)
  if (name) return tools.filter((tool) => tool.name === name).slice(0, 1)
  const wanted = count ?? (name === undefined ? 0 : 1)
  return tools.length === 0 ? [] : Array.from({ length: wanted }, (_, at) => tools[at % tools.length]!)
}

function textOf({ prompt, steering, schema }: ChatOrder): string {
  const broken = steering['invalid-utf8'] ? `${INVALID_MARK} ` : ''
  const wide = steering['cut-mid-char'] ? MULTIBYTE : ''
  const text = broken + wide + plainText(prompt, steering)
  return schema === undefined ? text : JSON.stringify(sampleOf(schema, text))
}

function plainText(prompt: string, steering: Steering): string {
  if (steering.big !== undefined) return FILLER_MARK
  if (steering.answer !== undefined) return steering.answer
  if (steering.echo) return withoutSteering(prompt)
  if (steering.tokens === undefined) return DEFAULT_TEXT
  return Array.from({ length: steering.tokens }, (_, at) => VOCABULARY[at % VOCABULARY.length]).join(' ')
}

/** Words with the white space before them, so that joining them gives the text again. */
function wordsOf(text: string): string[] {
  return text.match(/\s*\S+\s*$|\s*\S+/g) ?? []
}
