/**
 * Calls of tools in pieces, as clients can read them. Compatible servers omit, repeat, empty or retype the number, the
 * id, the name and the arguments of a call; what is sent on has each of them once, and numbers from 0.
 */
import { randomUUID } from 'node:crypto'
import { decodedTwice, isEncodedAgain } from '../../shared/chat/arguments.ts'
import { saysAnything } from '../../shared/chat/deltas.ts'
import { AnswerTooLong } from './adapter.ts'
import { isFields, isText, objectOf } from '../../shared/platform/fields.ts'
import type { Fields } from '../../shared/platform/fields.ts'

/** The most calls of one answer: a customer can have a model make any number, and what was delivered is paid. */
const MAX_CALLS = 1001

/**
 * What is known of one call. `number` is its upstream's own, `whole` its arguments where they came as no text,
 * `encoded` what came of them where they are a JSON text of the object.
 */
type Call = {
  number: unknown
  id: string | null
  name: string
  text: string
  encoded: string
  brackets: Brackets
  whole: unknown
  more: Fields
  isCustom: boolean
  isOpen: boolean
}

/** A piece of a call, as it came. */
type Piece = { number: unknown; isNumbered: boolean; id: string | null; name: string; said: unknown }

/** The calls of one message. */
export class ToolCalls {
  private readonly calls: Call[] = []

  /** Whether no tool is called. */
  get isEmpty(): boolean {
    return this.calls.length === 0
  }

  /**
   * Takes further pieces. The beginning of a call waits for the first of its arguments: until then its name may grow.
   * @returns what can be passed on
   * @throws AnswerTooLong for more calls than any answer may make
   */
  take(pieces: readonly unknown[]): Fields[] {
    return pieces.filter(isFields).flatMap((fields, at) => {
      const { index: _index, type: _type, ...said } = fields
      return saysAnything(said) ? this.takeOne(fields, at) : []
    })
  }

  /**
   * No more comes.
   * @param isCut whether the end of the answer may have cut off the last call
   * @returns the rest to pass on: a call without arguments has `{}`
   */
  end(isCut = false): Fields[] {
    for (const call of isCut ? this.calls.slice(0, -1) : this.calls) call.whole ??= {}
    return this.calls.flatMap((call) => this.untold(call))
  }

  /** Whether the arguments of a call are complete, as far as can be known: another call came after it, or are JSON. */
  isWhole(index: number): boolean {
    const call = this.calls[index]!
    return call !== this.calls.at(-1) || (!call.isCustom && objectOf(call.text) !== null)
  }

  private takeOne(fields: Fields, at: number): Fields[] {
    const { index, id, type: _type, function: called, custom, ...rest } = fields
    // Some have name and arguments at the top of a call.
    const body = [called, custom].find(isFields) ?? fields
    const { name: _name, arguments: _arguments, input: _input, ...more } = rest
    const number = Number(index ?? Number.NaN)
    const piece: Piece = {
      number: Number.isNaN(number) ? at : number,
      isNumbered: !Number.isNaN(number),
      id: isText(id) ? id : null,
      name: isText(body.name) ? body.name : '',
      said: body.arguments ?? body.input,
    }
    const before = this.calls.length
    const call = this.callOf(piece, isFields(custom))
    const ended = this.calls.length > before ? this.calls.slice(0, before).flatMap((one) => this.untold(one)) : []
    if (piece.name !== '' && call.text === '') call.name = grownName(call.name, piece.name)
    const text = this.textOf(call, piece.said)
    const added = Object.fromEntries(Object.entries(more).filter(([, value]) => saysAnything(value)))
    Object.assign(call.more, added)
    if (text !== '') return [...ended, this.passed(call, text)]
    const isLate = call.isOpen && Object.keys(added).length > 0
    return isLate ? [...ended, { index: this.calls.indexOf(call), ...added }] : ended
  }

  /** The call that a piece belongs to, or begins. */
  private callOf(piece: Piece, isCustom: boolean): Call {
    const { number, id, name } = piece
    const known =
      (id === null ? undefined : this.calls.findLast((call) => call.id === id)) ??
      this.calls.findLast((call) => call.number === number)
    if (known && belongs(known, piece)) {
      known.id ??= id
      return known
    }
    if (this.calls.length >= MAX_CALLS) throw new AnswerTooLong(`the answer calls more than ${MAX_CALLS} tools`)
    const isTaken = this.calls.some((call) => call.id === id)
    const call = {
      number,
      id: isTaken ? null : id,
      name,
      text: '',
      encoded: '',
      brackets: new Brackets(),
      whole: undefined,
      more: {},
      isCustom,
      isOpen: false,
    }
    this.calls.push(call)
    return call
  }

  /** What a piece adds to the arguments of its call. Empty ones in front of others are a placeholder. */
  private textOf(call: Call, said: unknown): string {
    if (said === undefined || said === null) return ''
    const isPlaceholder = call.text === '' && typeof said === 'string' && said.trim() === '{}'
    if (typeof said !== 'string' || isPlaceholder) {
      call.whole = isPlaceholder ? {} : said
      return ''
    }
    if (call.encoded !== '' || (call.text === '' && !call.isCustom && isEncodedAgain(said))) {
      call.encoded += said
      return ''
    }
    // Some repeat everything at the end.
    if (said === call.text && objectOf(said)) return ''
    call.text += said
    call.brackets.add(said)
    return said
  }

  /** What was not passed on yet of a call after which another one begins. */
  private untold(call: Call): Fields[] {
    if (call.encoded !== '') {
      call.text = decodedTwice(call.encoded)
      call.encoded = ''
      return [this.passed(call, call.text)]
    }
    const isWhole = call.text.trim() === '' && call.whole !== undefined && !call.isCustom
    if (!isWhole) return call.isOpen ? [] : [this.passed(call, '')]
    const text = JSON.stringify(call.whole)
    call.text += text
    return [this.passed(call, text)]
  }

  private passed(call: Call, text: string): Fields {
    const index = this.calls.indexOf(call)
    const [type, field] = call.isCustom ? (['custom', 'input'] as const) : (['function', 'arguments'] as const)
    if (call.isOpen) return { index, [type]: { [field]: text } }
    call.isOpen = true
    // With hyphens it would be longer than chat completions take.
    const id = call.id ?? `call_${randomUUID().replaceAll('-', '')}`
    return { index, id, type, [type]: { name: call.name, [field]: text }, ...call.more }
  }
}

/** Whether a piece goes on with a call of its number or id: a new id begins a new call, an empty one is ignored. */
function belongs(call: Call, { number, isNumbered, id, name, said }: Piece): boolean {
  if (id !== null && call.id !== null) return id === call.id && (!isNumbered || call.number === number)
  if (name === '' || call.name === '') return true
  if (name === call.name) return !(saysAnything(said) && (isObject(call) || saysAnything(call.whole)))
  return id === null && isNumbered && call.text === '' && !saysAnything(call.whole)
}

/** Whether the arguments of a call are whole. They are parsed only where they can be: they come in many pieces. */
const isObject = ({ brackets, text }: Call): boolean => brackets.areClosed && objectOf(text) !== null

/** The brackets of a JSON text that comes in pieces. */
class Brackets {
  private open = 0
  private isText = false
  private isEscaped = false

  get areClosed(): boolean {
    return this.open === 0
  }

  add(text: string): void {
    for (const sign of text) {
      if (this.isEscaped) this.isEscaped = false
      else if (sign === '"') this.isText = !this.isText
      else if (this.isText) this.isEscaped = sign === '\\'
      else if (sign === '{' || sign === '[') this.open++
      else if (sign === '}' || sign === ']') this.open--
    }
  }
}

/** A name comes whole, again, in pieces, or longer every time. */
function grownName(known: string, more: string): string {
  if (known === more || more === '') return known
  return more.startsWith(known) ? more : known + more
}
