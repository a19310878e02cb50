/** From the canonical events of an answer to the events of the Messages API. */
import type { Fields } from '../../platform/fields.ts'
import type { AnswerEvent, EndReason } from '../events.ts'
import type { BlockEvent } from '../ordered-encoder.ts'
import { OrderedEncoder } from '../ordered-encoder.ts'
import { CLAUDE_THOUGHTS } from '../canonical.ts'
import type { Seal } from '../seal.ts'
import { begunUsage } from './complete-stream.ts'

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
  private hasRefused = false
  private format: string | undefined
  private readonly inputTokens: number
  private readonly seal: Seal['seal']

  /** @param inputTokens the input that the message reports, until its end reports the real number */
  constructor(inputTokens: number, seal: Seal['seal']) {
    super()
    this.inputTokens = inputTokens
    this.seal = seal
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
      usage: begunUsage({}, this.inputTokens),
    }
    return [{ type: 'message_start', message }]
  }

  protected framesOfBlock(event: BlockEvent): Fields[] {
    const index = this.next
    switch (event.is) {
      case 'block': {
        this.kind = event.kind
        this.isSigned = event.kind === 'reasoning' && event.sealed !== undefined
        this.format = event.kind === 'reasoning' ? event.format : undefined
        this.callsTools ||= event.kind === 'tool_call'
        this.hasRefused ||= event.kind === 'refusal'
        return [{ type: 'content_block_start', index, content_block: this.blockOf(event) }]
      }
      case 'delta':
        return [{ type: 'content_block_delta', index, delta: deltaOf(this.kind, event.text) }]
      case 'signature':
        this.isSigned = true
        return [signatureDelta(index, this.signatureOf(event.signature))]
      case 'stop': {
        // Clients keep a thought only where something comes as its signature: the empty one of a thought without.
        const unsigned = this.kind === 'reasoning' && !this.isSigned ? [signatureDelta(index, '')] : []
        this.next += 1
        return [...unsigned, { type: 'content_block_stop', index }]
      }
    }
  }

  /** A message that calls tools, or refuses, stops for that, no matter what its upstream reports. */
  protected end({ reason, stopSequence }: AnswerEvent & { is: 'end' }): Fields {
    const stop = reason === 'done' || reason === 'tools' ? this.wholeStop() : STOP[reason]
    const delta = { stop_reason: stop, stop_sequence: stopSequence ?? null }
    return { type: 'message_delta', delta, usage: { output_tokens: 0 } }
  }

  private wholeStop(): string {
    if (this.callsTools) return STOP.tools
    return this.hasRefused ? STOP.refusal : STOP.done
  }

  /** A block as it begins. What another vendor than Anthropic sealed is sealed once more, for its route. */
  private blockOf(event: BlockEvent & { is: 'block' }): Fields {
    switch (event.kind) {
      case 'text':
      case 'refusal':
        return { type: 'text', text: '' }
      case 'reasoning': {
        const { sealed, format, id } = event
        if (sealed === undefined) return { type: 'thinking', thinking: '', signature: '' }
        const data = format === CLAUDE_THOUGHTS ? sealed : this.seal({ sealed, format, id })
        return { type: 'redacted_thinking', data }
      }
      case 'tool_call':
        return { type: 'tool_use', id: event.id, name: event.name, input: {} }
    }
  }

  private signatureOf(signature: string): string {
    const { format } = this
    return format === CLAUDE_THOUGHTS ? signature : this.seal({ signature, format })
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
