/** The answer of a chat stream, put together from its chunks. Pure. */
import type { Fields } from '../../platform/fields.ts'
import { jsonBytes } from '../../platform/json-bytes.ts'
import { wordBytes } from '../../requests/token-count.ts'
import { Assembly, fitting } from '../assembly.ts'
import { addFields, saysAnything } from '../deltas.ts'

type Choice = { index: number; message: Fields; finish_reason: unknown; [field: string]: unknown }

/** Puts chunks in OpenAI's form together into the completion that a request without `stream` would have had. */
export class ChatAssembly extends Assembly {
  private readonly fields: Fields = {}
  private readonly choices = new Map<number, Choice>()
  protected readonly sizeOf = sizeOfChunk
  protected readonly wordsIn = wordsInChunk
  protected readonly cut = cutChunk

  get isEmpty(): boolean {
    return this.choices.size === 0
  }

  /** What was produced so far. `cutOff` is the finish_reason of choices that the upstream did not finish. */
  answer(cutOff: string): Fields {
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

  protected take(chunk: Fields): void {
    for (const name in chunk) if (!OF_CHUNKS.has(name)) this.fields[name] = chunk[name]
    for (const piece of choicesOf(chunk)) this.addChoice(piece)
  }

  private addChoice(piece: Fields): void {
    const { index, delta } = piece
    const at = typeof index === 'number' ? index : 0
    let choice = this.choices.get(at)
    if (!choice) {
      choice = { index: at, message: { role: 'assistant', content: null }, finish_reason: null }
      this.choices.set(at, choice)
    }
    for (const name in piece) {
      const value = piece[name]
      if (name === 'logprobs') addFields(choice, { logprobs: value })
      else if (name === 'finish_reason') choice.finish_reason = value || choice.finish_reason
      else if (!OF_PIECES.has(name) && value !== null) choice[name] = value
    }
    const { role } = choice.message
    addFields(choice.message, (delta ?? {}) as Fields)
    choice.message.role = role
  }
}

/** What a chunk has and its completion has not, or in another form. `__proto__` would be no field. */
const OF_CHUNKS: ReadonlySet<string> = new Set(['choices', 'object', 'obfuscation', '__proto__'])
/** The same of the choices of a chunk. */
const OF_PIECES: ReadonlySet<string> = new Set(['index', 'delta', '__proto__'])

/** A message as it is in a whole answer: calls of tools have numbers in streams alone. */
function unnumbered({ tool_calls: calls, ...message }: Choice['message']): Choice['message'] {
  if (!Array.isArray(calls)) return { ...message, ...(calls !== undefined && { tool_calls: calls }) }
  return { ...message, tool_calls: (calls as Fields[]).map(({ index: _index, ...call }) => call) }
}

/** The choices of a chunk. */
export const choicesOf = ({ choices }: Fields): Fields[] => (Array.isArray(choices) ? (choices as Fields[]) : [])

/** Whether a chunk begins an answer, or ends one: a role, or an empty text, is not yet one. */
export const beginsAnswer = (chunk: Fields): boolean =>
  choicesOf(chunk).some(({ delta, finish_reason: end }) => {
    const { role: _role, ...words } = (delta ?? {}) as Fields
    return typeof end === 'string' || saysAnything(words)
  })

/** Whether there is reasoning in a chunk, under any of its names. */
export const hasReasoning = (chunk: Fields): boolean =>
  choicesOf(chunk).some(({ delta }) => {
    const { reasoning, reasoning_content: thoughts, reasoning_details: details, thinking } = (delta ?? {}) as Fields
    return saysAnything(reasoning) || saysAnything(thoughts) || saysAnything(details) || saysAnything(thinking)
  })

/** The UTF-8 bytes of the words in a chunk. */
const wordsInChunk = (chunk: Fields): number => choicesOf(chunk).reduce((sum, { delta }) => sum + wordBytes(delta), 0)

/** What a chunk adds to its answer, in bytes of JSON. */
const sizeOfChunk = (chunk: Fields): number =>
  choicesOf(chunk).reduce(
    (sum, { delta, logprobs }) =>
      sum + sizeOfDelta(delta) + (logprobs ? Buffer.byteLength(JSON.stringify(logprobs)) : 0),
    0,
  )

function sizeOfDelta(delta: unknown): number {
  let size = 0
  for (const name in (delta ?? {}) as Fields) {
    const value = (delta as Fields)[name]
    if (typeof value === 'string') size += jsonBytes(value)
    else if (value !== null && value !== undefined) size += Buffer.byteLength(JSON.stringify(value))
  }
  return size
}

/** The texts of a chunk that fit into `room` bytes. */
function cutChunk(chunk: Fields, room: number): Fields {
  let left = room
  const cutText = (text: string): string => {
    const cut = fitting(text, left)
    left -= Buffer.byteLength(cut)
    return cut
  }
  const choices = choicesOf(chunk).map(({ index, delta }) => ({
    index,
    finish_reason: null,
    delta: Object.fromEntries(
      Object.entries((delta ?? {}) as Fields).flatMap(([field, value]) =>
        typeof value === 'string' ? [[field, field === 'role' ? value : cutText(value)]] : [],
      ),
    ),
  }))
  return { ...chunk, choices }
}
