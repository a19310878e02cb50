/**
 * What a server of OpenAI's kind sends, as chunks that every client can read. A whole answer is a stream of one event.
 */
import { randomUUID } from 'node:crypto'
import { saysAnything } from '../../../shared/chat/deltas.ts'
import type { UpstreamUsage } from '../adapter.ts'
import { malformedAnswer } from '../failures.ts'
import { asFields, isFields, isText } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import type { Ending, Translation } from '../translation.ts'
import { takeUsage } from '../usage.ts'
import { openaisFinish } from './end-reasons.ts'
import { Choice } from './choice.ts'

/** The largest index of a choice: readers that join chunks make an array of that length. */
const MAX_INDEX = 1000

/** The chunks of one answer: one id, a time, and in every choice its number and, in its first delta, its role. */
export class OpenaiChunks implements Translation {
  private readonly choices = new Map<number, Choice>()
  private readonly expected: number
  private readonly finishOf: (reason: string, whole: string) => string
  private id: string | null = null
  private created: number | null = null
  private last: Fields = {}
  private taken: { event: Fields; usage: UpstreamUsage | null; rest: Fields } | null = null

  /**
   * @param expected how many choices were asked for
   * @param finishOf what is sent for a reason to finish; `whole` is that of a whole answer
   */
  constructor(expected: number, finishOf: (reason: string, whole: string) => string = openaisFinish) {
    this.expected = expected
    this.finishOf = finishOf
  }

  get isFinished(): boolean {
    if (this.choices.size < this.expected) return false
    for (const { hasEnded } of this.choices.values()) if (!hasEnded) return false
    return true
  }

  usageIn(event: Fields): UpstreamUsage | null {
    return this.withoutUsage(event).usage
  }

  frames(event: Fields, isWhole: boolean): Fields[] {
    const { usage, rest } = this.withoutUsage(event)
    const { choices, id, created } = rest
    this.id ??= isText(id) ? id : null
    this.created ??= Number.isInteger(created) && (created as number) > 0 ? (created as number) : null
    if (!Array.isArray(choices) || choices.length === 0) return []
    this.last = rest
    const pieces = choices.map((choice, at) => this.pieceOf(choice, at, isWhole, usage !== null))
    return pieces.some(saysSomething) ? [this.chunkOf(pieces)] : []
  }

  end({ isDone, isBroken }: Ending): Fields[] {
    if (this.choices.size === 0) throw malformedAnswer('the answer has no choices')
    const open = [...this.choices].filter(([, { hasEnded }]) => !hasEnded)
    if (open.length === 0) return []
    if (!isDone || isBroken) throw malformedAnswer('the stream was cut off')
    return [
      this.chunkOf(
        open.map(([index, choice]) => {
          const delta = choice.take({}, 'stop')
          return { index, delta, finish_reason: choice.forgottenReason }
        }),
      ),
    ]
  }

  /** What an event reports, searched for once, and the event without it. */
  private withoutUsage(event: Fields): { usage: UpstreamUsage | null; rest: Fields } {
    if (this.taken?.event !== event) this.taken = { event, ...takeUsage(event) }
    return this.taken
  }

  /** The last event with these choices: the event itself where that is as every client can read it. */
  private chunkOf(pieces: Fields[]): Fields {
    const { last } = this
    const before = Array.isArray(last.choices) ? (last.choices as unknown[]) : []
    this.id ??= `chatcmpl-${randomUUID()}`
    this.created ??= Math.floor(Date.now() / 1000)
    const own = { id: this.id, object: 'chat.completion.chunk', created: this.created }
    const choices = pieces.map((piece) => this.withRole(piece))
    const isSame = last.id === own.id && last.object === own.object && last.created === own.created
    if (isSame && !('error' in last) && choices.every((piece, at) => piece === before[at])) return last
    // The official SDK throws at any error in a chunk, also at an empty one.
    const { choices: _choices, error: _error, object: _object, id: _id, created: _created, ...head } = last
    return { ...own, ...head, choices }
  }

  /**
   * A choice of an event as every client can read it: the choice itself where it is so.
   * @param isCounted whether usage was reported: with it and a reason to finish, an empty choice is valid
   */
  private pieceOf(value: unknown, at: number, isWhole: boolean, isCounted: boolean): Fields {
    if (!isFields(value)) throw malformedAnswer('the answer has a choice that is none')
    const { index, finish_reason: reason, delta, message, text } = value
    if (isWhole && !(isFields(message) || isFields(delta) || isText(text) || (isCounted && isText(reason)))) {
      throw malformedAnswer('a choice has no message')
    }
    const number = indexOf(index ?? at)
    const choice = this.choices.get(number) ?? new Choice()
    this.choices.set(number, choice)
    const end = isText(reason) ? reason : isWhole ? 'stop' : null
    const isFirstEnd = end !== null && !choice.hasEnded
    const words = choice.take(value, end)
    if (
      words === delta &&
      reason === null &&
      index === number &&
      !('error' in value || 'message' in value || 'text' in value)
    )
      return value
    const {
      message: _message,
      text: _text,
      error: _error,
      index: _index,
      delta: _delta,
      finish_reason: _end,
      ...rest
    } = value
    const finish = isText(reason) ? this.finishOf(reason, choice.forgottenReason) : choice.forgottenReason
    return { ...rest, index: number, delta: words, finish_reason: isFirstEnd ? finish : null }
  }

  private withRole(piece: Fields): Fields {
    const delta = asFields(piece.delta)
    const said = this.choices.get(piece.index as number)?.withRole(delta) ?? delta
    return said === delta ? piece : { ...piece, delta: said }
  }
}

/** Whether there is more in a choice than its number. */
function saysSomething(piece: Fields): boolean {
  for (const name in piece) if (name !== 'index' && saysAnything(piece[name])) return true
  return false
}

function indexOf(value: unknown): number {
  const index = typeof value === 'string' && value !== '' ? Number(value) : value
  if (Number.isInteger(index) && (index as number) >= 0 && (index as number) <= MAX_INDEX) return index as number
  throw malformedAnswer('the answer has a choice without a sane number')
}
