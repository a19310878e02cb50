/** From what the Responses API sends to the events of an answer. A whole response is a stream of its items. */
import { randomUUID } from 'node:crypto'
import type { AnswerEvent, BlockStart, EndReason } from '../../../shared/chat/events.ts'
import { LEAST_LIMIT } from '../../../shared/chat/features.ts'
import { ResponseCompleter, isResponse } from '../../../shared/chat/responses/complete-stream.ts'
import { wordsOf } from '../../../shared/chat/responses/items.ts'
import { asFields, isText } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import type { UpstreamUsage } from '../adapter.ts'
import { CallEvents, OpenBlock } from '../answer-blocks.ts'
import { failureIn, malformedAnswer } from '../failures.ts'
import { CompletingDecoder } from '../translation.ts'
import { largerUsage, openaiUsage } from '../usage.ts'

/** The blocks of words, by the events that carry them. */
const WORDS: Readonly<Record<string, BlockStart>> = {
  'response.output_text.delta': { kind: 'text' },
  'response.refusal.delta': { kind: 'refusal' },
  'response.reasoning_text.delta': { kind: 'reasoning' },
  'response.reasoning_summary_text.delta': { kind: 'reasoning' },
}

/** The events of one answer. */
export class ResponsesDecoder extends CompletingDecoder {
  private readonly open = new OpenBlock()
  private readonly calls = new CallEvents(this.open)
  private hasStarted = false
  private hasEnded = false
  /** The part of each thought that came last. */
  private readonly parts = new Map<unknown, string>()
  private items = 0
  /** The number of the message whose words came last. */
  private message: unknown = null
  private reported: UpstreamUsage | null = null
  private readonly limit: number

  /** @param limit of the output, in tokens: an upstream may exceed a smaller one than it takes, and no more is paid */
  constructor(limit = Infinity) {
    super(new ResponseCompleter())
    this.limit = limit
  }

  get isFinished(): boolean {
    return this.hasEnded
  }

  usageIn(event: Fields): UpstreamUsage | null {
    const used = openaiUsage(event.usage ?? asFields(event.response).usage)
    const usage = used && this.limited(used)
    if (usage) this.reported = largerUsage(this.reported, usage)
    return usage && this.reported
  }

  /** Of what was made because the limit had to be raised nothing is reported. */
  private limited(usage: UpstreamUsage): UpstreamUsage {
    const over = usage.output - this.limit
    if (this.limit >= LEAST_LIMIT || over <= 0) return usage
    return { ...usage, output: this.limit, ...(usage.total !== undefined && { total: usage.total - over }) }
  }

  /** @throws UpstreamError for a response that failed, under any status */
  protected requireSense(event: Fields, isWhole: boolean): void {
    if (!isWhole && !isResponse(event)) return
    requireAnswered(event)
    if (!Array.isArray(event.output)) throw malformedAnswer('the answer has no output')
  }

  protected requireWhole(): void {
    if (!this.hasEnded) throw malformedAnswer(this.hasStarted ? 'the answer was cut off' : 'the answer is empty')
  }

  protected eventsOf(event: Fields): AnswerEvent[] {
    const { type, output_index: index, item, response } = event
    switch (type) {
      case 'response.created':
        return this.start(asFields(response))
      case 'response.failed':
      case 'response.cancelled':
        return requireAnswered({ status: 'failed', ...asFields(response) })
      case 'response.output_item.added':
        return this.begin(index, asFields(item))
      case 'response.output_item.done':
        return this.open.close()
      case 'response.completed':
      case 'response.incomplete':
        return this.ended(asFields(response), type === 'response.incomplete')
      default:
        return this.words(event)
    }
  }

  private start({ id, created_at: created }: Fields): AnswerEvent[] {
    this.hasStarted = true
    const at = typeof created === 'number' ? Math.floor(created) : Math.floor(Date.now() / 1000)
    return [{ is: 'start', id: isText(id) ? id : `resp_${randomUUID()}`, created: at }]
  }

  /** A call is recognised by its name; other items by their words. */
  private begin(index: unknown, item: Fields): AnswerEvent[] {
    this.items += 1
    const { type, name, call_id: id } = item
    if (type === 'function_call') return this.calls.take([{ index, id, function: { name } }])
    return type === 'custom_tool_call' ? this.calls.take([{ index, id, custom: { name } }]) : []
  }

  private words(event: Fields): AnswerEvent[] {
    const { type, output_index: index, content_index: part, summary_index: summary } = event
    const text = wordsOf(event)
    if (text === null) return []
    if (type === 'response.function_call_arguments.delta')
      return this.calls.take([{ index, function: { arguments: text } }])
    if (type === 'response.custom_tool_call_input.delta') return this.calls.take([{ index, custom: { input: text } }])
    const start = WORDS[String(type)]
    if (!start) return []
    if (start.kind !== 'reasoning')
      return this.open.add(`${String(index)} ${String(part)}`, this.inItem(start, index), text)
    const at = `${String(type)} ${String(part ?? summary)}`
    const isFurther = (this.parts.get(index) ?? at) !== at
    this.parts.set(index, at)
    return this.open.add(String(index), start, isFurther ? `\n\n${text}` : text)
  }

  /** How the words of a message begin: behind those of another one they are a further message. */
  private inItem(start: BlockStart, index: unknown): BlockStart {
    const before = this.message ?? index
    this.message = index
    return before === index || start.kind !== 'text' ? start : { ...start, isFurther: true }
  }

  private ended({ incomplete_details: details }: Fields, isIncomplete: boolean): AnswerEvent[] {
    if (this.items === 0 && this.reported === null) throw malformedAnswer('the answer is empty')
    this.hasEnded = true
    const { reason: cause } = asFields(details)
    const whole: EndReason = this.calls.isEmpty ? 'done' : 'tools'
    const reason: EndReason = !isIncomplete ? whole : cause === 'content_filter' ? 'refusal' : 'length'
    return [...this.calls.end(isIncomplete), ...this.open.close(isIncomplete), { is: 'end', reason }]
  }
}
/** @throws UpstreamError for a response that failed */
function requireAnswered({ status, error }: Fields): AnswerEvent[] {
  if (status !== 'failed' && status !== 'cancelled') return []
  throw failureIn({ error: asFields(error) }) ?? malformedAnswer('the response failed')
}
