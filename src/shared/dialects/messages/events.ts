/**
 * From the canonical events of an answer to the events of the Messages API.
 */
import type { Fields } from '../../platform/fields.ts'
import type { AnswerEncoder, AnswerEvent, EndReason } from '../events.ts'
import { CLAUDE_THOUGHTS } from '../thoughts.ts'

const STOP: Readonly<Record<EndReason, string>> = {
  done: 'end_turn',
  stop_sequence: 'stop_sequence',
  length: 'max_tokens',
  context: 'model_context_window_exceeded',
  tools: 'tool_use',
  refusal: 'refusal',
  paused: 'pause_turn',
}

/** What belongs to a block. */
type BlockEvent = Extract<AnswerEvent, { block: number }>

/**
 * The events of one message. Its blocks follow one another: what belongs to a block after the open one waits until the
 * open one has ended.
 */
export class MessageEncoder implements AnswerEncoder {
  private readonly waiting = new Map<number, BlockEvent[]>()
  private open: number | null = null
  private next = 0
  private kind = ''
  private isSigned = false
  private callsTools = false
  private readonly inputTokens: number

  /** @param inputTokens what the message is said to have read, until its end tells what it did */
  constructor(inputTokens: number) {
    this.inputTokens = inputTokens
  }

  framesOf(event: AnswerEvent): Fields[] {
    switch (event.is) {
      case 'start':
        return [{ type: 'message_start', message: this.message(event.id) }]
      case 'end':
        return [...this.rest(), this.end(event)]
      case 'block':
      case 'delta':
      case 'signature':
      case 'stop':
        return this.take(event)
    }
  }

  private message(id: string): Fields {
    return {
      id: id.startsWith('msg_') ? id : `msg_${id}`,
      type: 'message',
      role: 'assistant',
      model: '',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: {
        input_tokens: this.inputTokens,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        output_tokens: 1,
      },
    }
  }

  private take(event: BlockEvent): Fields[] {
    if (this.open !== null && event.block !== this.open) {
      this.waiting.set(event.block, [...(this.waiting.get(event.block) ?? []), event])
      return []
    }
    const frames = this.framesOfOpen(event)
    return this.open === null ? [...frames, ...this.further()] : frames
  }

  /** What has waited of the blocks after one that has ended, up to the next that is still open. */
  private further(): Fields[] {
    const frames: Fields[] = []
    while (this.open === null) {
      const [first] = [...this.waiting.keys()].toSorted((one, other) => one - other)
      if (first === undefined) break
      const events = this.waiting.get(first)!
      this.waiting.delete(first)
      for (const event of events) frames.push(...this.framesOfOpen(event))
    }
    return frames
  }

  /** What waits at the end of the answer: every block ends there. */
  private rest(): Fields[] {
    const frames: Fields[] = []
    while (this.open !== null) frames.push(...this.take({ is: 'stop', block: this.open }))
    return frames
  }

  private framesOfOpen(event: BlockEvent): Fields[] {
    const index = this.next
    switch (event.is) {
      case 'block': {
        this.open = event.block
        this.kind = event.kind
        this.isSigned = event.kind === 'reasoning' && event.sealed !== undefined
        this.callsTools ||= event.kind === 'tool_call'
        return [{ type: 'content_block_start', index, content_block: blockOf(event) }]
      }
      case 'delta':
        return [{ type: 'content_block_delta', index, delta: deltaOf(this.kind, event.text) }]
      case 'signature':
        this.isSigned = true
        return [signatureDelta(index, event.signature)]
      case 'stop': {
        // Clients keep a thought only where something comes as its signature: the empty one of a thought without.
        const unsigned = this.kind === 'reasoning' && !this.isSigned ? [signatureDelta(index, '')] : []
        this.open = null
        this.next += 1
        return [...unsigned, { type: 'content_block_stop', index }]
      }
    }
  }

  /** A message that calls tools stops for them, whatever its upstream says. */
  private end({ reason, stopSequence }: AnswerEvent & { is: 'end' }): Fields {
    const isCalled = this.callsTools && (reason === 'done' || reason === 'tools')
    const stop = isCalled ? STOP.tools : reason === 'tools' ? STOP.done : STOP[reason]
    const delta = { stop_reason: stop, stop_sequence: stopSequence ?? null }
    return { type: 'message_delta', delta, usage: { output_tokens: 0 } }
  }
}

/** A block as it begins: a signature is its vendor's own, and none is made here. */
function blockOf(event: BlockEvent & { is: 'block' }): Fields {
  switch (event.kind) {
    case 'text':
    case 'refusal':
      return { type: 'text', text: '' }
    case 'reasoning':
      return event.sealed !== undefined && event.format === CLAUDE_THOUGHTS
        ? { type: 'redacted_thinking', data: event.sealed }
        : { type: 'thinking', thinking: '', signature: '' }
    case 'tool_call':
      return { type: 'tool_use', id: event.id, name: event.name, input: {} }
  }
}

const signatureDelta = (index: number, signature: string): Fields => ({
  type: 'content_block_delta',
  index,
  delta: { type: 'signature_delta', signature },
})

function deltaOf(kind: string, text: string): Fields {
  if (kind === 'tool_call') return { type: 'input_json_delta', partial_json: text }
  return kind === 'reasoning' ? { type: 'thinking_delta', thinking: text } : { type: 'text_delta', text }
}
