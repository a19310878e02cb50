/** From the events of an answer to chunks of OpenAI's kind. */
import type { Fields } from '../../platform/fields.ts'
import { CALL_SIGNATURE } from '../canonical.ts'
import type { AnswerEncoder, AnswerEvent, BlockStart, EndReason } from '../events.ts'

/** OpenAI's finish_reason. */
export const FINISH: Readonly<Record<EndReason, string>> = {
  done: 'stop',
  stop_sequence: 'stop',
  paused: 'stop',
  length: 'length',
  context: 'length',
  tools: 'tool_calls',
  refusal: 'content_filter',
}

/** A call that has begun: its number among the calls, and what its first chunk has besides its arguments. */
type Call = { index: number; begin: { id: string; name: string } | null; isCustom: boolean }

/** The chunks of one answer. Thoughts are in them twice: to be read, and to be sent back as they are. */
export class ChunkEncoder implements AnswerEncoder {
  private head: Fields = {}
  private hasBegun = false
  /** Whether a blank line has to part the next words from a message before them. */
  private isFurther = false
  private readonly kinds = new Map<number, BlockStart['kind']>()
  private readonly formats = new Map<number, string | undefined>()
  private readonly calls = new Map<number, Call>()
  /** What Gemini wants back with calls, by their ids. */
  private readonly signatures = new Map<string, string>()
  private readonly isLegacy: boolean

  /** @param isLegacy whether its client reads the `function_call` of older clients */
  constructor(isLegacy = false) {
    this.isLegacy = isLegacy
  }

  framesOf(event: AnswerEvent): Fields[] {
    switch (event.is) {
      case 'start':
        this.head = { id: event.id, object: 'chat.completion.chunk', created: event.created }
        return []
      case 'block':
        return this.begin(event)
      case 'delta':
        return [this.chunk(this.deltaOf(event))]
      case 'signature':
        return [this.chunk(this.thought(event.block, { signature: event.signature }))]
      case 'stop':
        return this.stop(event)
      case 'end':
        return [this.chunk({}, this.finishOf(event.reason))]
    }
  }

  private begin(event: AnswerEvent & { is: 'block' }): Fields[] {
    const { block, kind } = event
    this.kinds.set(block, kind)
    if (kind === 'tool_call') {
      const { id, name, isCustom = false } = event
      this.calls.set(block, { index: this.calls.size, begin: { id, name }, isCustom })
    }
    if (kind === 'text') this.isFurther = event.isFurther === true
    if (kind !== 'reasoning') return []
    this.formats.set(block, event.format)
    if (event.sealed === undefined) return []
    const { sealed: data, format, id } = event
    if (format === CALL_SIGNATURE) {
      this.signatures.set(id ?? '', data)
      return []
    }
    const sealed = { type: 'reasoning.encrypted', data, format, ...(id !== undefined && { id }), index: block }
    return [this.chunk({ reasoning_details: [sealed] })]
  }

  private deltaOf({ block, text }: AnswerEvent & { is: 'delta' }): Fields {
    switch (this.kinds.get(block)) {
      case 'tool_call':
        return this.calledIn(this.calls.get(block)!, text)
      case 'reasoning':
        return { reasoning_content: text, ...this.thought(block, { text }) }
      case 'refusal':
        return { refusal: text }
      case 'text':
      case undefined: {
        const content = this.isFurther ? `\n\n${text}` : text
        this.isFurther = false
        return { content }
      }
    }
  }

  private thought(index: number, words: Fields): Fields {
    const format = this.formats.get(index)
    if (format === undefined) return {}
    return { reasoning_details: [{ type: 'reasoning.text', ...words, format, index }] }
  }

  /** A call without arguments has not been sent yet. */
  private stop({ block, isCut }: AnswerEvent & { is: 'stop' }): Fields[] {
    const call = this.calls.get(block)
    return call?.begin ? [this.chunk(this.calledIn(call, call.isCustom || isCut ? '' : '{}'))] : []
  }

  /** An answer that calls tools, or refuses, finishes for that, no matter what its upstream reports. */
  private finishOf(reason: EndReason): string {
    if (reason !== 'done' && reason !== 'tools') return FINISH[reason]
    if (this.calls.size === 0) return [...this.kinds.values()].includes('refusal') ? FINISH.refusal : FINISH.done
    return this.isLegacy ? 'function_call' : FINISH.tools
  }

  /** The delta of a piece of a call. Older clients read one call, without an id. */
  private calledIn(call: Call, text: string): Fields {
    if (!this.isLegacy) return { tool_calls: [this.pieceOf(call, text)] }
    if (call.index > 0) return {}
    const { function: called } = this.pieceOf(call, text)
    return { function_call: called }
  }

  private pieceOf(call: Call, text: string): Fields {
    const { index, begin } = call
    const [type, field] = call.isCustom ? (['custom', 'input'] as const) : (['function', 'arguments'] as const)
    if (!begin) return { index, [type]: { [field]: text } }
    call.begin = null
    const signature = this.signatures.get(begin.id)
    return {
      index,
      id: begin.id,
      type,
      [type]: { name: begin.name, [field]: text },
      ...(signature !== undefined && { extra_content: { google: { thought_signature: signature } } }),
    }
  }

  /** A chunk with this delta; the first one also has the role. */
  private chunk(delta: Fields, finish: string | null = null): Fields {
    const first = this.hasBegun
      ? {}
      : { role: 'assistant', content: delta.tool_calls || delta.function_call ? null : '' }
    this.hasBegun = true
    const choice = { index: 0, delta: { ...first, ...delta }, logprobs: null, finish_reason: finish }
    return { ...this.head, choices: [choice] }
  }
}
