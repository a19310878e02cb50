/**
 * The answer of a chat stream, put together from its chunks. Pure.
 */
import { countOutput } from '../../requests/token-count.ts'
import type { Assembly } from '../answer-form.ts'
import { joinedFields, saysAnything } from '../deltas.ts'
import type { ChatCompletion } from './output.ts'

type Chunk = Record<string, unknown>
type Choice = { index: number; message: Record<string, unknown>; finish_reason: unknown; [field: string]: unknown }

/** Puts chunks in OpenAI's form together into the completion that a request without `stream` would have had. */
export class ChatAssembly implements Assembly {
  private fields: Record<string, unknown> = {}
  private readonly choices = new Map<number, Choice>()
  private bytes = 0
  private readonly maxBytes: number

  /** @param maxBytes how long the answer may become, as JSON in UTF-8 */
  constructor(maxBytes: number) {
    this.maxBytes = maxBytes
  }

  /** Takes the next chunk, or the texts of it that still fit; answers what it took. */
  add(chunk: Chunk): Chunk {
    const size = sizeOfChunk(chunk)
    const taken = this.bytes + size > this.maxBytes ? cutChunk(chunk, this.maxBytes - this.bytes) : chunk
    this.bytes += size
    const { choices: _choices, object: _object, obfuscation: _obfuscation, ...fields } = taken
    this.fields = { ...this.fields, ...fields }
    for (const piece of choicesOf(taken)) this.addChoice(piece)
    return taken
  }

  /** Whether it is as long as it may become, or something did not fit any more. */
  get isFull(): boolean {
    return this.bytes >= this.maxBytes
  }

  /** Our own count of the words so far, in tokens. */
  get tokens(): number {
    return countOutput([...this.choices.values()])
  }

  /** Whether nothing was produced. */
  get isEmpty(): boolean {
    return this.choices.size === 0
  }

  /** What was produced so far. `cutOff` is the finish_reason of choices that the upstream did not finish. */
  answer(cutOff: string): ChatCompletion {
    if (this.isEmpty) this.addChoice({ delta: { content: '' } })
    const choices = [...this.choices.values()]
      .toSorted((a, b) => a.index - b.index)
      .map((choice) => ({
        ...choice,
        message: unnumbered(choice.message),
        finish_reason: choice.finish_reason ?? cutOff,
      }))
    return {
      created: Math.floor(Date.now() / 1000),
      ...this.fields,
      id: typeof this.fields.id === 'string' ? this.fields.id : 'chatcmpl',
      object: 'chat.completion',
      choices,
    }
  }

  private addChoice({ index, delta, finish_reason, ...rest }: Chunk): void {
    const at = typeof index === 'number' ? index : 0
    const choice = this.choices.get(at) ?? {
      index: at,
      message: { role: 'assistant', content: null },
      finish_reason: null,
    }
    const { logprobs, ...more } = rest
    Object.assign(choice, withoutNulls(more))
    if (logprobs !== undefined) Object.assign(choice, joinedFields({ logprobs: choice.logprobs }, { logprobs }))
    if (finish_reason) choice.finish_reason = finish_reason
    const { role: _role, ...words } = (delta ?? {}) as Chunk
    choice.message = joinedFields(choice.message, words)
    this.choices.set(at, choice)
  }
}

const withoutNulls = (fields: Chunk): Chunk =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))

/** A message as it is in a whole answer: calls of tools have numbers in streams alone. */
function unnumbered({ tool_calls: calls, ...message }: Choice['message']): Choice['message'] {
  if (!Array.isArray(calls)) return { ...message, ...(calls !== undefined && { tool_calls: calls }) }
  return { ...message, tool_calls: (calls as Chunk[]).map(({ index: _index, ...call }) => call) }
}

/** The choices of a chunk. */
export const choicesOf = ({ choices }: Chunk): Chunk[] => (Array.isArray(choices) ? (choices as Chunk[]) : [])

/** Whether a chunk begins an answer, or ends one: a role, or an empty text, is not yet one. */
export const beginsAnswer = (chunk: Chunk): boolean =>
  choicesOf(chunk).some(({ delta, finish_reason: end }) => {
    const { role: _role, ...words } = (delta ?? {}) as Chunk
    return typeof end === 'string' || saysAnything(words)
  })

/** Whether there is reasoning in a chunk, under any of its names. */
export const hasReasoning = (chunk: Chunk): boolean =>
  choicesOf(chunk).some(({ delta }) => {
    const { reasoning, reasoning_content: thoughts, reasoning_details: details, thinking } = (delta ?? {}) as Chunk
    return [reasoning, thoughts, details, thinking].some(saysAnything)
  })

/** What a chunk adds to its answer, in bytes of JSON. */
export const sizeOfChunk = (chunk: Chunk): number =>
  choicesOf(chunk).reduce(
    (sum, { delta, logprobs }) =>
      sum + sizeOfDelta(delta) + (logprobs ? Buffer.byteLength(JSON.stringify(logprobs)) : 0),
    0,
  )

function sizeOfDelta(delta: unknown): number {
  return Object.values((delta ?? {}) as Chunk).reduce<number>(
    (sum, value) =>
      value === null || value === undefined
        ? sum
        : sum + Buffer.byteLength(JSON.stringify(value)) - (typeof value === 'string' ? 2 : 0),
    0,
  )
}

/** Of a chunk the texts that fit into so many bytes. */
function cutChunk(chunk: Chunk, room: number): Chunk {
  let left = Math.max(0, room)
  const cutText = (text: string): string => {
    const bytes = Buffer.from(text).subarray(0, left)
    left -= bytes.length
    // With more to come, half a character at the end is left out.
    return new TextDecoder().decode(bytes, { stream: true })
  }
  const choices = choicesOf(chunk).map(({ index, delta }) => ({
    index,
    finish_reason: null,
    delta: Object.fromEntries(
      Object.entries((delta ?? {}) as Chunk).flatMap(([field, value]) =>
        typeof value === 'string' ? [[field, field === 'role' ? value : cutText(value)]] : [],
      ),
    ),
  }))
  return { ...chunk, choices }
}
