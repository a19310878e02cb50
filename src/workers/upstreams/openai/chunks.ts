/**
 * What a server of OpenAI's kind says, as chunks that every client can read. A whole answer is a stream of one event.
 */
import { randomUUID } from 'node:crypto'
import { saysAnything } from '../../../shared/dialects/deltas.ts'
import type { UpstreamUsage } from '../adapter.ts'
import { malformedAnswer } from '../failures.ts'
import { asFields, isFields, isText } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import type { Ending, Translation } from '../translation.ts'
import { takeUsage } from '../usage.ts'
import { Choice } from './choice.ts'

/** The largest index of a choice: whoever puts chunks together makes an array as long as that. */
const MAX_INDEX = 1000

/** The chunks of one answer: one id, a time, and in every choice its number and, in its first delta, its role. */
export class OpenaiChunks implements Translation {
  private readonly choices = new Map<number, Choice>()
  private readonly expected: number
  private id: string | null = null
  private created: number | null = null
  private head: Fields = {}

  /** @param expected how many choices were asked for */
  constructor(expected: number) {
    this.expected = expected
  }

  get isFinished(): boolean {
    const all = [...this.choices.values()]
    return all.length >= this.expected && all.every(({ hasEnded }) => hasEnded)
  }

  usageIn(event: Fields): UpstreamUsage | null {
    return takeUsage(event).usage
  }

  frames(event: Fields, isWhole: boolean): Fields[] {
    const { usage, rest } = takeUsage(event)
    // The official SDK throws at any error in a chunk, also at an empty one.
    const { choices, error: _error, object: _object, id, created, ...head } = rest
    this.id ??= isText(id) ? id : null
    this.created ??= Number.isInteger(created) && (created as number) > 0 ? (created as number) : null
    if (!Array.isArray(choices) || choices.length === 0) return []
    this.head = head
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

  private chunkOf(choices: Fields[]): Fields {
    this.id ??= `chatcmpl-${randomUUID()}`
    this.created ??= Math.floor(Date.now() / 1000)
    const head = { id: this.id, object: 'chat.completion.chunk', created: this.created }
    return { ...head, ...this.head, choices: choices.map((piece) => this.withRole(piece)) }
  }

  /** @param isCounted whether usage was reported: with it and a reason to finish, a choice that says nothing is one */
  private pieceOf(value: unknown, at: number, isWhole: boolean, isCounted: boolean): Fields {
    if (!isFields(value)) throw malformedAnswer('the answer has a choice that is none')
    const { index, finish_reason: reason, delta, message, text, error: _error, ...rest } = value
    if (isWhole && !(isFields(message) || isFields(delta) || isText(text) || (isCounted && isText(reason)))) {
      throw malformedAnswer('a choice has no message')
    }
    const number = indexOf(index ?? at)
    const choice = this.choices.get(number) ?? new Choice()
    this.choices.set(number, choice)
    const end = isText(reason) ? reason : isWhole ? 'stop' : null
    const isFirstEnd = end !== null && !choice.hasEnded
    const words = choice.take({ delta, message, text }, end)
    const finish = isText(reason) ? reason : choice.forgottenReason
    return { ...rest, index: number, delta: words, finish_reason: isFirstEnd ? finish : null }
  }

  private withRole(piece: Fields): Fields {
    const choice = this.choices.get(piece.index as number)
    return choice ? { ...piece, delta: choice.withRole(asFields(piece.delta)) } : piece
  }
}

const saysSomething = ({ index: _index, ...piece }: Fields): boolean => saysAnything(piece)

function indexOf(value: unknown): number {
  const index = typeof value === 'string' && value !== '' ? Number(value) : value
  if (Number.isInteger(index) && (index as number) >= 0 && (index as number) <= MAX_INDEX) return index as number
  throw malformedAnswer('the answer has a choice without a sane number')
}
