/**
 * From what the Messages API says to chunks of OpenAI's kind. A whole message is a stream of its blocks.
 */
import { randomUUID } from 'node:crypto'
import type { UpstreamUsage } from '../adapter.ts'
import { malformedAnswer } from '../failures.ts'
import { asFields, isText } from '../fields.ts'
import type { Fields } from '../fields.ts'
import { ToolCalls } from '../tool-calls.ts'
import type { Ending, Translation } from '../translation.ts'
import { anthropicUsage, largerUsage } from '../usage.ts'
import { THOUGHT_FORMAT } from './thoughts.ts'

const FINISH: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
}

/** OpenAI's finish_reason for a stop_reason; `stop` for one that nobody knows yet. */
const finishOf = (reason: unknown): string => (typeof reason === 'string' ? FINISH[reason] : undefined) ?? 'stop'

/** The chunks of one answer. Its thoughts stand in them twice: to be read, and to be sent back as they are. */
export class MessagesChunks implements Translation {
  private readonly namesBack: ReadonlyMap<string, string>
  private readonly calls = new ToolCalls()
  /** The blocks that are calls of the client's tools; those of the API's own have inputs too. */
  private readonly toolBlocks = new Set<unknown>()
  private head: Fields | null = null
  private stopReason: string | null = null
  private hasBegun = false
  private hasEnded = false
  private reported: UpstreamUsage | null = null
  private blocks = 0

  /** @param namesBack the names of tools as the customer has them, by those that were sent */
  constructor(namesBack: ReadonlyMap<string, string> = new Map()) {
    this.namesBack = namesBack
  }

  get isFinished(): boolean {
    return this.stopReason !== null
  }

  usageIn(event: Fields): UpstreamUsage | null {
    const usage = anthropicUsage(event.usage ?? asFields(event.message).usage)
    if (usage) this.reported = largerUsage(this.reported, usage)
    return usage && this.reported
  }

  /** No chunk leaves before the first piece of content. */
  chunks(event: Fields, isWhole: boolean): Fields[] {
    if (event.type === 'message' || (isWhole && Array.isArray(event.content))) return this.message(event, isWhole)
    const delta = this.deltaOf(event)
    return [...(delta ? [this.chunk(delta)] : []), ...this.lastChunks()]
  }

  end(_ending: Ending): Fields[] {
    if (this.stopReason === null) throw malformedAnswer(this.head ? 'the answer was cut off' : 'the answer is empty')
    if (!this.hasEnded) throw malformedAnswer('the answer is empty')
    return []
  }

  /** A model may have nothing to say: with a reason to stop and a usage that is an answer, and was billed. */
  private lastChunks(): Fields[] {
    const isAnswer = this.blocks > 0 || this.reported !== null || finishOf(this.stopReason) === 'content_filter'
    if (this.stopReason === null || this.hasEnded || !isAnswer) return []
    this.hasEnded = true
    const calls = this.calls.end()
    return [this.chunk(calls.length > 0 ? { tool_calls: calls } : {}, finishOf(this.stopReason))]
  }

  /**
   * A message with blocks may forget its reason to stop; without either nothing says that the model has answered.
   * @throws UpstreamError `unknown` for a message without content
   */
  private message(message: Fields, isWhole: boolean): Fields[] {
    const { content, stop_reason: reason } = message
    if (!Array.isArray(content)) throw malformedAnswer('the answer has no content')
    this.begin(message)
    const deltas = content.flatMap((block, index): Fields[] => {
      const delta = this.startBlock(index, asFields(block))
      return delta ? [delta] : []
    })
    this.stopReason = isText(reason) ? reason : isWhole && content.length > 0 ? 'end_turn' : null
    return [...deltas.map((delta) => this.chunk(delta)), ...this.lastChunks()]
  }

  private begin({ id, model }: Fields): void {
    this.head = {
      id: isText(id) ? id : `msg_${randomUUID()}`,
      object: 'chat.completion.chunk',
      created: Math.floor(Date.now() / 1000),
      model,
    }
  }

  /** A chunk with this delta; the first one also says whose turn it is. */
  private chunk(delta: Fields, finish: string | null = null): Fields {
    if (!this.head) throw malformedAnswer('the answer does not begin with its message')
    const first = this.hasBegun ? {} : { role: 'assistant', content: delta.tool_calls ? null : '' }
    this.hasBegun = true
    const choice = { index: 0, delta: { ...first, ...delta }, logprobs: null, finish_reason: finish }
    return { ...this.head, choices: [choice] }
  }

  /** Takes an event; the delta that it means to a client, if any. */
  private deltaOf(event: Fields): Fields | null {
    switch (event.type) {
      case 'message_start':
        this.begin(asFields(event.message))
        return null
      case 'content_block_start':
        return this.startBlock(event.index, asFields(event.content_block))
      case 'content_block_delta':
        return this.continueBlock(event.index, asFields(event.delta))
      case 'message_delta': {
        const { stop_reason: reason } = asFields(event.delta)
        if (isText(reason)) this.stopReason = reason
        return null
      }
      default:
        return null
    }
  }

  private startBlock(index: unknown, block: Fields): Fields | null {
    this.blocks += 1
    switch (block.type) {
      case 'text':
        return said(block.text, (text) => ({ content: text }))
      case 'thinking':
        return thought(index, { thinking: block.thinking, signature: block.signature })
      case 'redacted_thinking':
        return { reasoning_details: [{ type: 'reasoning.encrypted', data: block.data, format: THOUGHT_FORMAT, index }] }
      case 'tool_use':
        this.toolBlocks.add(index)
        return this.called({ index, id: block.id, function: { name: this.nameOf(block.name), arguments: block.input } })
      default:
        return null
    }
  }

  private continueBlock(index: unknown, delta: Fields): Fields | null {
    switch (delta.type) {
      case 'text_delta':
        return said(delta.text, (text) => ({ content: text }))
      case 'thinking_delta':
        return thought(index, { thinking: delta.thinking })
      case 'signature_delta':
        return thought(index, { signature: delta.signature })
      case 'input_json_delta':
        return this.toolBlocks.has(index)
          ? said(delta.partial_json, (text) => this.called({ index, function: { arguments: text } }))
          : null
      default:
        return null
    }
  }

  private called(piece: Fields): Fields | null {
    const calls = this.calls.take([piece])
    return calls.length > 0 ? { tool_calls: calls } : null
  }

  private nameOf(name: unknown): unknown {
    return typeof name === 'string' ? (this.namesBack.get(name) ?? name) : name
  }
}

/** What a text means; nothing where it is empty. @throws UpstreamError `unknown` where it is none */
function said(text: unknown, meaning: (text: string) => Fields | null): Fields | null {
  if (text === undefined || text === null || text === '') return null
  if (typeof text !== 'string') throw malformedAnswer('a block has a content that is no text')
  return meaning(text)
}

/** A piece of a thought, or its signature. */
function thought(index: unknown, { thinking, signature }: Fields): Fields | null {
  const text = said(thinking, (words) => ({ text: words }))
  const signed = isText(signature) ? { signature } : null
  if (!text && !signed) return null
  return {
    ...(text && { reasoning_content: text.text }),
    reasoning_details: [{ type: 'reasoning.text', ...text, ...signed, format: THOUGHT_FORMAT, index }],
  }
}
