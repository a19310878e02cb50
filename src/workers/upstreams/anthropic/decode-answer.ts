/** From what the Messages API sends to the events of an answer. A whole message is a stream of its blocks. */
import type { AnswerEvent, EndReason } from '../../../shared/chat/events.ts'
import { isCutOff } from '../../../shared/chat/events.ts'
import { CLAUDE_THOUGHTS } from '../../../shared/chat/canonical.ts'
import { MessageCompleter, isMessage } from '../../../shared/chat/messages/complete-stream.ts'
import type { UpstreamUsage } from '../adapter.ts'
import { CallEvents, OpenBlock } from '../answer-blocks.ts'
import { malformedAnswer } from '../failures.ts'
import { asFields, isText } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import { CompletingDecoder } from '../translation.ts'
import { anthropicUsage, largerUsage } from '../usage.ts'

const REASONS: Readonly<Record<string, EndReason>> = {
  end_turn: 'done',
  stop_sequence: 'stop_sequence',
  pause_turn: 'paused',
  max_tokens: 'length',
  model_context_window_exceeded: 'context',
  tool_use: 'tools',
  refusal: 'refusal',
}

/** The events of one answer. Nothing but its start comes before the first piece of content. */
export class MessagesDecoder extends CompletingDecoder {
  private readonly open = new OpenBlock()
  private readonly calls = new CallEvents(this.open)
  /** The blocks that are calls of the client's tools; those of the API's own have inputs too. */
  private readonly toolBlocks = new Set<unknown>()
  private hasStarted = false
  private stopReason: string | null = null
  private stopSequence: unknown = null
  /** Why the model refuses, if it does. */
  private explanation = 'The model refused to answer.'
  private hasEnded = false
  private reported: UpstreamUsage | null = null
  private blocks = 0
  /** Whether the answer came as one message, in which the input of a call is an object even if it was cut off. */
  private isWhole = false

  /** @param inputTokens our own count of the input */
  constructor(inputTokens = 0) {
    super(new MessageCompleter(inputTokens))
  }

  get isFinished(): boolean {
    return this.stopReason !== null
  }

  usageIn(event: Fields): UpstreamUsage | null {
    const usage = anthropicUsage(event.usage ?? asFields(event.message).usage)
    if (usage) this.reported = largerUsage(this.reported, usage)
    return usage && this.reported
  }

  protected requireSense(event: Fields, isWhole: boolean): void {
    this.isWhole = isMessage(event, isWhole)
    if (this.isWhole && !Array.isArray(event.content)) throw malformedAnswer('the answer has no content')
  }

  protected requireWhole(): void {
    if (this.stopReason === null)
      throw malformedAnswer(this.hasStarted ? 'the answer was cut off' : 'the answer is empty')
    if (!this.hasEnded) throw malformedAnswer('the answer is empty')
  }

  /** A model may return no content: with a reason to stop and a usage, that is an answer and was billed. */
  private ended(): AnswerEvent[] {
    const reason = this.stopReason === null ? null : (REASONS[this.stopReason] ?? 'done')
    const isAnswer = this.blocks > 0 || this.reported !== null || reason === 'refusal'
    if (reason === null || this.hasEnded || !isAnswer) return []
    this.hasEnded = true
    const { stopSequence } = this
    const met = isText(stopSequence) ? { stopSequence } : {}
    const isCut = isCutOff(reason)
    const ends = [...this.calls.end(isCut, this.isWhole), ...this.open.close(isCut)]
    const refused = reason === 'refusal' ? this.open.add('refusal', { kind: 'refusal' }, this.explanation) : []
    return [...ends, ...refused, ...this.open.close(), { is: 'end', reason, ...met }]
  }

  private start({ id, stop_details: details }: Fields): AnswerEvent[] {
    this.hasStarted = true
    this.explain(details)
    return [{ is: 'start', id: String(id), created: Math.floor(Date.now() / 1000) }]
  }

  private explain(details: unknown): void {
    const { explanation } = asFields(details)
    if (isText(explanation)) this.explanation = explanation
  }

  protected eventsOf(event: Fields): AnswerEvent[] {
    switch (event.type) {
      case 'message_start':
        return this.start(asFields(event.message))
      case 'content_block_start':
        return this.startBlock(event.index, asFields(event.content_block))
      case 'content_block_delta':
        return this.continueBlock(event.index, asFields(event.delta))
      case 'message_delta': {
        const { stop_reason: reason, stop_sequence: sequence, stop_details: details } = asFields(event.delta)
        this.explain(details)
        if (isText(reason)) this.stopReason = reason
        if (isText(sequence)) this.stopSequence = sequence
        return this.ended()
      }
      default:
        return []
    }
  }

  private startBlock(index: unknown, block: Fields): AnswerEvent[] {
    this.blocks += 1
    switch (block.type) {
      case 'text':
        return this.text(index, block.text)
      case 'thinking':
        return [...this.thought(index, block.thinking), ...this.signed(index, block.signature)]
      case 'redacted_thinking':
        return isText(block.data)
          ? [
              ...this.open.start(index, { kind: 'reasoning', sealed: block.data, format: CLAUDE_THOUGHTS }),
              ...this.open.close(),
            ]
          : []
      case 'tool_use': {
        this.toolBlocks.add(index)
        return this.calls.take([{ index, id: block.id, function: { name: block.name } }])
      }
      default:
        return []
    }
  }

  private continueBlock(index: unknown, delta: Fields): AnswerEvent[] {
    switch (delta.type) {
      case 'text_delta':
        return this.text(index, delta.text)
      case 'thinking_delta':
        return this.thought(index, delta.thinking)
      case 'signature_delta':
        return this.signed(index, delta.signature)
      case 'input_json_delta': {
        const text = wordsOf(delta.partial_json)
        return this.toolBlocks.has(index) && text !== ''
          ? this.calls.take([{ index, function: { arguments: text } }])
          : []
      }
      default:
        return []
    }
  }

  private text(index: unknown, text: unknown): AnswerEvent[] {
    return this.open.add(index, { kind: 'text' }, wordsOf(text))
  }

  private thought(index: unknown, text: unknown): AnswerEvent[] {
    return this.open.add(index, { kind: 'reasoning', format: CLAUDE_THOUGHTS }, wordsOf(text))
  }

  /** A thought may be signed and have no words: its vendor does not send them. */
  private signed(index: unknown, signature: unknown): AnswerEvent[] {
    if (!isText(signature)) return []
    const begun = this.open.start(index, { kind: 'reasoning', format: CLAUDE_THOUGHTS })
    return [...begun, { is: 'signature', block: this.open.number, signature }]
  }
}

/** A text of an answer; empty if it is missing. @throws UpstreamError `unknown` if it is not a text */
function wordsOf(text: unknown): string {
  if (text === undefined || text === null) return ''
  if (typeof text !== 'string') throw malformedAnswer('a block has a content that is no text')
  return text
}
