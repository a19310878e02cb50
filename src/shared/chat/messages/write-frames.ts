/** From the canonical events of an answer to the events of the Messages API. */
import type { Fields } from '../../platform/fields.ts'
import type { AnswerEvent, EndReason } from '../events.ts'
import type { BlockEvent } from '../ordered-encoder.ts'
import { OrderedEncoder } from '../ordered-encoder.ts'
import { CLAUDE_THOUGHTS } from '../canonical.ts'

const STOP: Readonly<Record<EndReason, string>> = {
  done: 'end_turn',
  stop_sequence: 'stop_sequence',
  length: 'max_tokens',
  context: 'model_context_window_exceeded',
  tools: 'tool_use',
  refusal: 'refusal',
  paused: 'pause_turn',
}

/** The events of one message. Its blocks follow one another. */
export class MessageEncoder extends OrderedEncoder {
  private next = 0
  private kind = ''
  private isSigned = false
  private callsTools = false
  private readonly inputTokens: number

  /** @param inputTokens the input that the message reports, until its end reports the real number */
  constructor(inputTokens: number) {
    super()
    this.inputTokens = inputTokens
  }

  protected start({ id }: AnswerEvent & { is: 'start' }): Fields[] {
    const message = {
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
    return [{ type: 'message_start', message }]
  }

  protected framesOfBlock(event: BlockEvent): Fields[] {
    const index = this.next
    switch (event.is) {
      case 'block': {
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
        this.next += 1
        return [...unsigned, { type: 'content_block_stop', index }]
      }
    }
  }

  /** A message that calls tools stops for them, no matter what its upstream reports. */
  protected end({ reason, stopSequence }: AnswerEvent & { is: 'end' }): Fields {
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
