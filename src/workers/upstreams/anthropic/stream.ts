/**
 * From the events of a Messages stream to chunks of OpenAI's kind.
 */
import type { ChatEvent, UpstreamUsage } from '../adapter.ts'
import { failureIn, malformedAnswer } from '../failures.ts'
import { asFields, isText } from '../fields.ts'
import type { Fields } from '../fields.ts'
import { parseJson } from '../http.ts'
import { anthropicUsage, largerUsage } from '../usage.ts'
import { finishOf, headOf, requireBlocks } from './answer.ts'

/**
 * The chunks of a stream and its usages. No chunk leaves before the first piece of content: an overloaded upstream
 * likes to say so right after its first event, and until then another one may be asked.
 * @throws UpstreamError for an error event, for a stream that is cut off, and for one without content
 */
export async function* chunksOf(events: AsyncIterable<{ data: string }>): AsyncGenerator<ChatEvent> {
  const translation = new Translation()
  for await (const { data } of events) {
    const event = asFields(parseJson(data))
    if (event.type === 'message_stop') break
    const failure = failureIn(event)
    if (failure) throw failure
    const delta = translation.read(event)
    if (delta) yield { type: 'chunk', chunk: translation.chunk(delta) }
    // The beginning reports the input, should the end never come.
    if (event.type === 'message_start') yield* translation.usage()
  }
  yield { type: 'chunk', chunk: translation.lastChunk() }
  yield* translation.usage()
}

/** What a stream has said so far. */
class Translation {
  private head: Fields | null = null
  private reported: UpstreamUsage | null = null
  private stopReason: unknown = null
  private hasBegun = false
  private blocks = 0
  /** The index among the tool calls, by the index of the content block. */
  private readonly calls = new Map<unknown, number>()

  /** Takes an event; the delta that it means to a client, if any. */
  read(event: Fields): Fields | null {
    switch (event.type) {
      case 'message_start':
        return this.start(asFields(event.message))
      case 'content_block_start':
        return this.startBlock(event.index, asFields(event.content_block))
      case 'content_block_delta':
        return this.deltaOf(event.index, asFields(event.delta))
      case 'message_delta':
        return this.end(event)
      default:
        return null
    }
  }

  /** A chunk with this delta; the first one also says whose turn it is. */
  chunk(delta: Fields, finish: string | null = null): Fields {
    if (!this.head) throw malformedAnswer('the stream does not begin with its message')
    const first = this.hasBegun ? {} : { role: 'assistant', content: delta.tool_calls ? null : '' }
    this.hasBegun = true
    const choice = { index: 0, delta: { ...first, ...delta }, logprobs: null, finish_reason: finish }
    return { ...this.head, object: 'chat.completion.chunk', choices: [choice] }
  }

  lastChunk(): Fields {
    if (this.stopReason === null) throw malformedAnswer('the stream was cut off')
    requireBlocks(this.blocks, this.stopReason, this.reported)
    return this.chunk({}, finishOf(this.stopReason))
  }

  /** The usage that was reported so far, if any. */
  usage(): ChatEvent[] {
    return this.reported ? [{ type: 'usage', usage: this.reported }] : []
  }

  private start(message: Fields): null {
    this.head = headOf(message)
    this.report(message.usage)
    return null
  }

  private startBlock(index: unknown, block: Fields): Fields | null {
    this.blocks += 1
    if (block.type === 'text') return isText(block.text) ? { content: block.text } : null
    if (block.type !== 'tool_use') return null
    const call = this.calls.size
    this.calls.set(index, call)
    const called = { name: block.name, arguments: '' }
    return { tool_calls: [{ index: call, id: block.id, type: 'function', function: called }] }
  }

  private deltaOf(index: unknown, delta: Fields): Fields | null {
    switch (delta.type) {
      case 'text_delta':
        return { content: textOf(delta.text) }
      case 'thinking_delta':
        return { reasoning_content: textOf(delta.thinking) }
      case 'input_json_delta':
        return this.argumentsOf(index, textOf(delta.partial_json))
      default:
        return null
    }
  }

  /** Tools of the API's own have inputs too; only those of the client are calls. */
  private argumentsOf(index: unknown, piece: string): Fields | null {
    const call = this.calls.get(index)
    return call === undefined || piece === '' ? null : { tool_calls: [{ index: call, function: { arguments: piece } }] }
  }

  private end({ delta, usage }: Fields): null {
    this.stopReason = asFields(delta).stop_reason ?? this.stopReason
    this.report(usage)
    return null
  }

  private report(usage: unknown): void {
    const further = anthropicUsage(usage)
    if (further) this.reported = largerUsage(this.reported, further)
  }
}

function textOf(value: unknown): string {
  if (typeof value !== 'string') throw malformedAnswer('a piece of the stream is no text')
  return value
}
