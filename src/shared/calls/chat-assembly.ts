/**
 * The answer of a chat stream, put together from its chunks. Pure.
 */
import type { ChatCompletion } from './answers.ts'
import { countOutput, wordBytes } from './words.ts'

type Chunk = Record<string, unknown>
type Choice = { index: number; message: Record<string, unknown>; finish_reason: unknown; [field: string]: unknown }

/** Puts chunks in OpenAI's form together into the completion that a request without `stream` would have had. */
export class ChatAssembly {
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

  /** Whether anything was produced. */
  get isEmpty(): boolean {
    return this.choices.size === 0
  }

  /** What was produced so far. `cutOff` is the finish_reason of choices that the upstream did not finish. */
  completion(cutOff: string): ChatCompletion {
    if (this.isEmpty) this.addChoice({ delta: { content: '' } })
    const choices = [...this.choices.values()]
      .toSorted((a, b) => a.index - b.index)
      .map((choice) => ({
        ...choice,
        message: withoutHoles(choice.message),
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

  /** A chunk that ends the choices that the upstream did not finish; null where there is none. */
  lastChunk(cutOff: string): Chunk | null {
    const open = [...this.choices.values()].filter((choice) => !choice.finish_reason)
    if (open.length === 0) return null
    const choices = open.map(({ index }) => ({ index, delta: {}, finish_reason: cutOff }))
    return { ...this.fields, object: 'chat.completion.chunk', choices }
  }

  private addChoice({ index, delta, finish_reason, ...rest }: Chunk): void {
    const at = typeof index === 'number' ? index : 0
    const choice = this.choices.get(at) ?? {
      index: at,
      message: { role: 'assistant', content: null },
      finish_reason: null,
    }
    const { logprobs, ...more } = withoutNulls(rest)
    Object.assign(choice, more)
    if (logprobs) choice.logprobs = joinedLists(choice.logprobs, logprobs as Chunk)
    if (finish_reason) choice.finish_reason = finish_reason
    for (const [field, value] of Object.entries((delta ?? {}) as Chunk)) mergeField(choice.message, field, value)
    this.choices.set(at, choice)
  }
}

const withoutNulls = (fields: Chunk): Chunk =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))

/** The lists of both, one behind the other: probabilities come a token at a time. */
function joinedLists(known: unknown, more: Chunk): Chunk {
  const before = (known ?? {}) as Chunk
  return {
    ...before,
    ...more,
    ...Object.fromEntries(
      Object.entries(more).flatMap(([name, list]) =>
        Array.isArray(list) && Array.isArray(before[name])
          ? [[name, [...(before[name] as unknown[]), ...(list as unknown[])]]]
          : [],
      ),
    ),
  }
}

/** Texts and lists of reasoning are appended, tool calls merged by their index, everything else replaced. */
function mergeField(message: Record<string, unknown>, field: string, value: unknown): void {
  if (value === null || value === undefined) return
  if (field === 'tool_calls' && Array.isArray(value))
    message.tool_calls = mergeToolCalls(message.tool_calls, value as Chunk[])
  else if (field === 'reasoning_details' && Array.isArray(value))
    Object.assign(message, joinedLists(message, { [field]: value }))
  else if (typeof value === 'string' && field !== 'role')
    message[field] = `${(message[field] as string | null) ?? ''}${value}`
  else message[field] = value
}

/** Some upstreams count their tool calls from one, or leave a number out: as JSON the gap would be a call of null. */
function withoutHoles({ tool_calls: calls, ...message }: Choice['message']): Choice['message'] {
  return Array.isArray(calls) ? { ...message, tool_calls: calls.filter(() => true) } : message
}

function mergeToolCalls(known: unknown, pieces: Chunk[]): Chunk[] {
  const calls = (known ?? []) as Chunk[]
  for (const { index, function: called, ...rest } of pieces) {
    const at = typeof index === 'number' ? index : calls.length
    const call = (calls[at] ??= { id: '', type: 'function', function: { name: '', arguments: '' } })
    Object.assign(call, withoutNulls(rest))
    const target = call.function as { name: string; arguments: string }
    const piece = (called ?? {}) as { name?: string; arguments?: string }
    target.name += piece.name ?? ''
    target.arguments += piece.arguments ?? ''
  }
  return calls
}

/** The choices of a chunk. */
export const choicesOf = ({ choices }: Chunk): Chunk[] => (Array.isArray(choices) ? (choices as Chunk[]) : [])

/** Whether there are words in a chunk. */
export const saysSomething = (chunk: Chunk): boolean => choicesOf(chunk).some(({ delta }) => wordBytes(delta) > 0)

/** Whether there is reasoning in a chunk, under any of its names. */
export const hasReasoning = (chunk: Chunk): boolean =>
  choicesOf(chunk).some(({ delta }) => {
    const { reasoning, reasoning_content: thoughts, reasoning_details: details } = (delta ?? {}) as Chunk
    return [reasoning, thoughts, details].some(
      (one) => (typeof one === 'string' || Array.isArray(one)) && one.length > 0,
    )
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
