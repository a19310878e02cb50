/**
 * One choice of an answer of OpenAI's kind, as it comes in pieces: in deltas, or in a message or a text in their place.
 */
import { addFields, saysAnything } from '../../../shared/chat/deltas.ts'
import { isCutOff } from '../../../shared/chat/events.ts'
import { malformedAnswer } from '../failures.ts'
import { asFields, isFields, isText } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import { ToolCalls } from '../tool-calls.ts'
import { endReasonOf } from './end-reasons.ts'

/** What has come of a choice. */
export class Choice {
  private readonly calls = new ToolCalls()
  private readonly functionCall = new ToolCalls()
  private readonly told = new Map<string, string>()
  private readonly besides: Fields[] = []
  private hasDeltas = false
  private hasRole = false
  private isEnded = false

  /** Whether it has its reason to finish. */
  get hasEnded(): boolean {
    return this.isEnded
  }

  /**
   * Takes a piece, and ends the choice where it names a reason. A message counts only where no delta has words: next to
   * deltas it waits for the end, because it may repeat them.
   * @returns the delta that it means to a client: the piece's own one where nothing of that has to be changed
   * @throws UpstreamError `unknown` for words that are none
   */
  take({ delta, message, text }: Fields, end: string | null): Fields {
    const words = isText(delta) ? { content: delta } : asFields(delta)
    this.hasDeltas ||= saysWords(words)
    const alone = isFields(message) ? message : isText(text) ? { content: text } : null
    if (alone && !this.hasDeltas) this.besides.push(alone)
    const read = this.readable(words)
    const isAlone = delta === undefined || delta === null || end !== null
    const messages = this.hasDeltas || !isAlone ? [] : this.besides.splice(0)
    const isFirstEnd = end !== null && !this.isEnded
    if (messages.length === 0 && !isFirstEnd) return read
    const said = {}
    addFields(said, read)
    for (const one of messages) addFields(said, this.readable(this.news(one)))
    if (isFirstEnd) addFields(said, this.closed(isCutOff(endReasonOf(end))))
    this.isEnded ||= isFirstEnd
    return said
  }

  /** A delta to send, with the role if it is the first: the role is sent once. */
  withRole(delta: Fields): Fields {
    if (this.hasRole) return delta
    this.hasRole = true
    return { role: 'assistant', ...delta }
  }

  /** The reason to finish if its upstream has omitted it: without one, readers cannot distinguish it from a loss. */
  get forgottenReason(): string {
    return this.calls.isEmpty ? 'stop' : 'tool_calls'
  }

  private closed(isCut: boolean): Fields {
    const calls = this.calls.end(isCut)
    const [called] = this.functionCall.isEmpty ? [] : this.functionCall.end(isCut)
    return { ...(calls.length > 0 && { tool_calls: calls }), ...(called && { function_call: called.function }) }
  }

  /** A delta in OpenAI's form, without its role; the same one where it is so. */
  private readable(delta: Fields): Fields {
    if (isReadable(delta)) return delta
    const { role: _role, content, tool_calls: calls, function_call: called, __proto__: _name, ...rest } = delta
    const pieces: unknown = isFields(calls) ? [calls] : (calls ?? [])
    if (!Array.isArray(pieces) || !pieces.every((call) => call === null || isFields(call))) {
      throw malformedAnswer('a message has calls of tools that are none')
    }
    const passed = this.calls.take(pieces)
    const [functionCall] = isFields(called) ? this.functionCall.take([{ function: called }]) : []
    return {
      ...rest,
      ...plainContent(content, rest),
      ...(passed.length > 0 && { tool_calls: passed }),
      ...(functionCall && { function_call: functionCall.function }),
    }
  }

  /** What a message in place of a delta adds: some repeat everything so far each time. */
  private news(message: Fields): Fields {
    const added = Object.entries(message).map(([field, value]): [string, unknown] => {
      if (typeof value !== 'string' || field === 'role') return [field, value]
      const known = this.told.get(field) ?? ''
      const isAgain = known !== '' && value.length > known.length && value.startsWith(known)
      this.told.set(field, isAgain ? value : known + value)
      return [field, isAgain ? value.slice(known.length) : value]
    })
    return Object.fromEntries(added)
  }
}

/** Whether a delta has words besides its role. */
function saysWords(delta: Fields): boolean {
  for (const name in delta) if (name !== 'role' && saysAnything(delta[name])) return true
  return false
}

/** What a delta of OpenAI's form has no need of, or has in many forms. */
const FORMED: ReadonlySet<string> = new Set(['role', 'tool_calls', 'function_call', '__proto__'])

/** Whether a delta is in OpenAI's form already. */
function isReadable(delta: Fields): boolean {
  for (const name in delta) if (FORMED.has(name)) return false
  const { content } = delta
  return content === undefined || content === null || typeof content === 'string'
}

/** What a plain text may come with and still be plain. */
const OF_TEXT: ReadonlySet<string> = new Set(['type', 'text', 'index', 'id'])

/**
 * Content as a text, where it is one: a list of texts is their sum, and thoughts are separate. A list of anything else
 * stays a list.
 * @throws UpstreamError `unknown` for what is neither
 */
function plainContent(content: unknown, { reasoning_content: thoughts }: Fields): Fields {
  if (content === undefined) return {}
  if (content === null || typeof content === 'string') return { content }
  if (!Array.isArray(content) && !isFields(content)) throw malformedAnswer('a piece of the answer is no text')
  const parts = (Array.isArray(content) ? content : [content]).filter((part) => part !== null)
  const thinking = parts.filter((part) => isThought(asFields(part)))
  const others = parts.filter((part) => !isThought(asFields(part)))
  const thought = [isText(thoughts) ? thoughts : '', ...thinking.map(textOf)].join('')
  return {
    ...(thought !== '' && { reasoning_content: thought }),
    ...(others.length > 0 && { content: others.every(isPlain) ? others.map(textOf).join('') : others }),
  }
}

const isThought = ({ type }: Fields): boolean => type === 'thinking' || type === 'reasoning'

/** Whether a part is a text and nothing else. */
function isPlain(part: unknown): boolean {
  if (typeof part === 'string') return true
  const { type = 'text', text, ...more } = asFields(part)
  const isNamedSo = type === 'text' || type === 'output_text'
  return isNamedSo && typeof text === 'string' && !Object.entries(more).some(([name, value]) => isMore(name, value))
}

const isMore = (name: string, value: unknown): boolean => !OF_TEXT.has(name) && saysAnything(value)

/** The text of a part, of the parts in it, or of a list of them. */
function textOf(part: unknown): string {
  if (typeof part === 'string') return part
  if (Array.isArray(part)) return part.map(textOf).join('')
  const { text, thinking, reasoning, summary } = asFields(part)
  const words = text ?? thinking ?? reasoning ?? summary
  return words === undefined || words === null ? '' : textOf(words)
}
