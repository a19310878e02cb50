/** From what the Gemini API sends to the events of an answer. A whole answer is a stream of one object. */
import { randomUUID } from 'node:crypto'
import type { Completer } from '../../../shared/chat/answer-form.ts'
import type { AnswerEvent, EndReason } from '../../../shared/chat/events.ts'
import { isCutOff } from '../../../shared/chat/events.ts'
import type { Seal } from '../../../shared/chat/seal.ts'
import { asFields, isFields, isText, listOf } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import type { UpstreamUsage } from '../adapter.ts'
import { UpstreamError } from '../adapter.ts'
import { CallEvents, OpenBlock } from '../answer-blocks.ts'
import { malformedAnswer } from '../failures.ts'
import type { Ending } from '../translation.ts'
import { CompletingDecoder } from '../translation.ts'
import { largerUsage } from '../usage.ts'
import { askedName } from './names.ts'
import { sealedSignature } from './signatures.ts'
import { geminiUsage } from './usage.ts'

const REASONS: Readonly<Record<string, EndReason>> = {
  STOP: 'done',
  MAX_TOKENS: 'length',
  SAFETY: 'refusal',
  RECITATION: 'refusal',
  LANGUAGE: 'refusal',
  BLOCKLIST: 'refusal',
  PROHIBITED_CONTENT: 'refusal',
  SPII: 'refusal',
  MODEL_ARMOR: 'refusal',
  IMAGE_SAFETY: 'refusal',
  IMAGE_PROHIBITED_CONTENT: 'refusal',
  IMAGE_RECITATION: 'refusal',
}

/** Reasons that mean that the model failed: another try may succeed. */
const FAILED = /^(MALFORMED_|UNEXPECTED_TOOL_CALL|TOO_MANY_TOOL_CALLS|MISSING_THOUGHT_SIGNATURE)/

/** The failure of a prompt that Google does not serve; null where none was blocked. */
export function blockedPrompt({ promptFeedback: feedback, candidates }: Fields): UpstreamError | null {
  const { blockReason: reason } = asFields(feedback)
  if (!isText(reason) || listOf(candidates).length > 0) return null
  return new UpstreamError('rejected', 'the prompt was blocked', { code: reason, fault: 'content_policy' })
}

/** Every object is complete as it comes: only a stream that has ended without its reason is given one. */
class AnswerCompleter implements Completer {
  private reason: unknown = null
  private hasBegun = false

  take(event: Fields): Fields[] {
    const [candidate] = listOf(event.candidates)
    this.hasBegun ||= candidate !== undefined
    this.reason ??= candidate?.finishReason ?? null
    return [event]
  }

  end(): Fields[] {
    return this.hasBegun && this.reason === null ? [{ candidates: [{ finishReason: 'STOP', index: 0 }] }] : []
  }
}

/**
 * How an answer is read. `isOneCall`: of calls that are made at once only the first is taken. `isPassed`: its client
 * knows the reasons by which Google reports that a model failed.
 */
type Reading = { seal: Seal['seal']; isOneCall?: boolean | undefined; isPassed?: true }

/** The events of one answer. Its end comes last: earlier models named a reason in each object. */
export class GeminiDecoder extends CompletingDecoder {
  private readonly open = new OpenBlock()
  private readonly calls = new CallEvents(this.open)
  private readonly reading: Reading
  private hasStarted = false
  private count = 0
  private parts = 0
  private reason: string | null = null
  private reported: UpstreamUsage | null = null

  constructor(reading: Reading) {
    super(new AnswerCompleter())
    this.reading = reading
  }

  get isFinished(): boolean {
    return this.reason !== null
  }

  usageIn({ usageMetadata: metadata }: Fields): UpstreamUsage | null {
    const usage = geminiUsage(metadata)
    if (usage) this.reported = largerUsage(this.reported, usage)
    return usage && this.reported
  }

  override end(ending: Ending): AnswerEvent[] {
    return [...super.end(ending), ...this.ended()]
  }

  /** @throws UpstreamError for a blocked prompt, and a whole answer that is none */
  protected requireSense(event: Fields, isWhole: boolean): void {
    const blocked = blockedPrompt(event)
    if (blocked) throw blocked
    if (isWhole && !Array.isArray(event.candidates)) throw malformedAnswer('the answer has no candidates')
  }

  protected requireWhole(): void {
    if (this.reason === null) throw malformedAnswer(this.hasStarted ? 'the answer was cut off' : 'the answer is empty')
    // A model may return no content: with a usage, and a reason that is known, that is an answer and was billed.
    const isAnswer =
      this.parts > 0 || this.endReason === 'refusal' || (this.endReason !== null && this.reported !== null)
    if (!isAnswer) throw malformedAnswer('the answer is empty')
  }

  protected eventsOf({ responseId: id, candidates }: Fields): AnswerEvent[] {
    const candidate = listOf(candidates).find(({ index }) => (index ?? 0) === 0)
    if (!candidate) return []
    const created = Math.floor(Date.now() / 1000)
    const started: AnswerEvent[] = this.hasStarted
      ? []
      : [{ is: 'start', id: isText(id) ? id : randomUUID().replaceAll('-', ''), created }]
    this.hasStarted = true
    const events = listOf(asFields(candidate.content).parts).flatMap((part) => this.eventsOfPart(part))
    return [...started, ...events, ...this.finish(candidate)]
  }

  /**
   * Explains a refusal at once: the usage in the same object has its words.
   * @throws UpstreamError where the model failed
   */
  private finish({ finishReason: reason, finishMessage: message }: Fields): AnswerEvent[] {
    if (!isText(reason) || reason === 'FINISH_REASON_UNSPECIFIED') return []
    if (FAILED.test(reason) && !this.reading.isPassed)
      throw new UpstreamError('unknown', `the model failed (${reason})`, { code: reason })
    const isFurther = this.reason !== null
    this.reason = reason
    if (isFurther || this.endReason !== 'refusal') return []
    const words = isText(message) ? message : 'The model refused to answer.'
    return [...this.open.close(true), ...this.open.add('refusal', { kind: 'refusal' }, words)]
  }

  private get endReason(): EndReason | null {
    return REASONS[this.reason ?? ''] ?? null
  }

  private eventsOfPart(part: Fields): AnswerEvent[] {
    const { text, thought, functionCall: called, thoughtSignature: signature } = part
    if (Object.keys(part).length > 0) this.parts += 1
    if (isFields(called)) return this.call(called, signature)
    const words = isText(text) ? text : ''
    // The signature behind a text is left out: no other dialect has a place for it, and no model insists on it.
    return thought === true
      ? this.open.add('thought', { kind: 'reasoning' }, words)
      : this.open.add('text', { kind: 'text' }, words)
  }

  private call({ id, name, args }: Fields, signature: unknown): AnswerEvent[] {
    if (this.reading.isOneCall && !this.calls.isEmpty) return []
    const written = typeof args === 'string' ? args : JSON.stringify(args ?? {})
    const sealed = this.sealed(signature)
    const piece = { index: this.count, id, function: { name: askedName(String(name)), arguments: written } }
    this.count += 1
    return this.calls.take([sealed ? { ...piece, extra_content: { google: { thought_signature: sealed } } } : piece])
  }

  private sealed(signature: unknown): string {
    return isText(signature) ? sealedSignature(signature, this.reading.seal) : ''
  }

  private ended(): AnswerEvent[] {
    const end = this.endReason ?? 'done'
    const reason = end === 'done' && !this.calls.isEmpty ? 'tools' : end
    const isCut = isCutOff(reason)
    return [...this.calls.end(isCut), ...this.open.close(isCut && reason !== 'refusal'), { is: 'end', reason }]
  }
}
