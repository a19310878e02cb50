/**
 * The stream of a response as the Responses API sends it, whatever its upstream leaves out: the beginning and the end
 * of the response, of every item and of every part, their places without a gap, ids of calls, and each word once.
 */
import { randomUUID } from 'node:crypto'
import { asFields, isText, listOf, objectOf } from '../../platform/fields.ts'
import type { Fields } from '../../platform/fields.ts'
import type { Completer } from '../answer-form.ts'
import { decodedTwice, isEncodedAgain } from '../arguments.ts'
import { eventsOfResponse } from './answer.ts'
import { itemAdded, itemDone, pieceIn, pieceOf, piecesOf, withWords } from './items.ts'
import type { OfPiece, Piece } from './items.ts'

/** What has come of a piece of an item, and what of it was not sent yet. */
type PieceState = Pick<Piece, 'told' | 'number' | 'text'> & {
  unsent: string
  isEncoded: boolean
  hasBegun: boolean
  isSaid: boolean
  hasEnded: boolean
}

/** An item: its place as its upstream numbers it, what is known of it, and its own place once it has begun. */
type Item = {
  at: unknown
  id: unknown
  type: string
  fields: Fields
  index: number | null
  wasAdded: boolean
  isDone: boolean
  pieces: Map<string, PieceState>
}

const isCall = (type: string): boolean => type === 'function_call' || type === 'custom_tool_call'

/** Whether everything that matters of a call has come: clients run calls in the order in which they end. */
const isWholeCall = ({ isDone, index, pieces }: Item): boolean =>
  !isDone &&
  index !== null &&
  [...pieces.values()].some(({ told, text }) => told.of === 'function_call' && objectOf(text))

const typeOf = ({ type, role }: Fields): string => (isText(type) ? type : isText(role) ? 'message' : '')

/** The key of an item in the map of known ones: of its type, at its place or by its id. */
const nameOf = (type: string, by: 'at' | 'as', value: unknown): string =>
  `${type} ${by} ${typeof value === 'string' || typeof value === 'number' ? value : ''}`

/** The ends of a response by its status. Some upstreams have one event for all of them, `response.done`. */
const endTypeOf = ({ status }: Fields): string =>
  `response.${['incomplete', 'failed', 'cancelled'].find((one) => one === status) ?? 'completed'}`

/** Whether an object is a response, and not an event that has one. */
export const isResponse = ({ object, output, type }: Fields): boolean =>
  type === undefined && (object === 'response' || Array.isArray(output))

/** Completes the events of one response. */
export class ResponseCompleter implements Completer {
  private readonly items: Item[] = []
  /** The last item of each type, and of each place and id: an answer may have any number of items. */
  private readonly known = new Map<string, Item>()
  private lastCall: Item | null = null
  private begun = 0
  private hasStarted = false
  private hasEnded = false

  /** A response that came in one piece is a stream of its items; one that was cut off has no end. */
  take(event: Fields, isWhole: boolean): Fields[] {
    if (!isWhole && !isResponse(event)) return this.complete(event)
    const events = eventsOfResponse(isText(event.status) ? event : { ...event, status: 'completed' })
    return events.slice(0, isWhole ? undefined : -1).flatMap((one) => this.complete(one))
  }

  /** Without an item that is open, nothing shows that something is missing. */
  end(): Fields[] {
    const isWhole = this.begun > 0 && this.items.every(({ isDone }) => isDone)
    return isWhole && !this.hasEnded ? this.ended({ type: 'response.completed' }) : []
  }

  private complete(event: Fields): Fields[] {
    if (this.hasEnded) return []
    switch (event.type) {
      case 'response.created':
      case 'response.in_progress':
        return this.start(asFields(event.response))
      case 'response.failed':
      case 'response.cancelled':
        return [event]
      case 'response.completed':
      case 'response.incomplete':
        return [...this.start(asFields(event.response)), ...this.ended(event)]
      case 'response.done':
        return this.complete({ ...event, type: endTypeOf(asFields(event.response)) })
      case 'response.output_item.added':
        return [...this.start({}), ...this.add(event)]
      case 'response.output_item.done':
        return [...this.start({}), ...this.done(event)]
      case 'response.output_text.annotation.added':
        return this.annotated(event)
      default: {
        const said = pieceIn(event)
        return said ? [...this.start({}), ...this.piece(event, said)] : []
      }
    }
  }

  private start(response: Fields): Fields[] {
    if (this.hasStarted) return []
    this.hasStarted = true
    const begun = { ...response, status: 'in_progress', output: [] }
    return ['response.created', 'response.in_progress'].map((type) => ({ type, response: begun }))
  }

  /** Some report items, or their ends, with the whole response alone. */
  private ended(event: Fields): Fields[] {
    this.hasEnded = true
    const response = asFields(event.response)
    const isCut = event.type === 'response.incomplete'
    const output = listOf(response.output)
    const known = this.toldOf(output)
    const late = output.flatMap((item) =>
      this.finish(known.get(item) ?? this.open({ item }, typeOf(item)), item, isCut),
    )
    const rest = this.items.flatMap((item) => this.finish(item, {}, isCut))
    const status = isText(response.status) ? response.status : isCut ? 'incomplete' : 'completed'
    return [...late, ...rest, { ...event, response: { ...response, status } }]
  }

  /** The items of a whole output that have come: by their ids, and the first of a type as the first of that type. */
  private toldOf(output: readonly Fields[]): ReadonlyMap<Fields, Item> {
    const found = new Map<Fields, Item>()
    const namesOf = ({ id, call_id: call }: Fields): string[] => [id, call].filter(isText)
    const named = new Map(this.items.flatMap((one) => namesOf(one.fields).map((name) => [name, one] as const)))
    for (const item of output) {
      const known = namesOf(item).flatMap((name) => named.get(name) ?? [])[0]
      if (known?.type === typeOf(item)) found.set(item, known)
    }
    const matched = new Set(found.values())
    const left = new Map<string, Item[]>()
    for (const one of this.items) {
      if (!left.has(one.type)) left.set(one.type, [])
      if (!matched.has(one)) left.get(one.type)!.push(one)
    }
    for (const item of output) {
      const next = found.has(item) ? undefined : left.get(typeOf(item))?.shift()
      if (next) found.set(item, next)
    }
    return found
  }

  /** The item that an event is about: by its place, its id, or as the last of its type that is open. */
  private itemOf({ output_index: at, item_id: itemId, item }: Fields, type: string): Item | undefined {
    const { id = itemId } = asFields(item)
    const known = this.known.get(nameOf(type, 'at', at)) ?? this.known.get(nameOf(type, 'as', id))
    const last = this.known.get(type)
    return known ?? (last && !last.isDone && (at === undefined || last.at === undefined) ? last : undefined)
  }

  private open({ output_index: at, item_id: itemId, item }: Fields, type: string): Item {
    const { id = itemId } = asFields(item)
    const role = type === 'message' ? { role: 'assistant' } : {}
    const fields = { ...(id !== undefined && { id }), type, ...role, ...asFields(item) }
    const opened = { at, id, type, fields, index: null, wasAdded: false, isDone: false, pieces: new Map() }
    this.items.push(opened)
    this.known.set(type, opened)
    if (at !== undefined) this.known.set(nameOf(type, 'at', at), opened)
    if (id !== undefined) this.known.set(nameOf(type, 'as', id), opened)
    return opened
  }

  private add(event: Fields): Fields[] {
    const { output_index: at, item } = event
    const fields = asFields(item)
    const type = typeOf(fields)
    const known = this.itemOf(event, type)
    const isSameId = known?.id !== undefined && known.id === fields.id
    const isSamePlace = at !== undefined && known?.at === at && !known.isDone
    if (known?.wasAdded && (isSameId || isSamePlace)) return []
    const added = known && !known.wasAdded && !known.isDone ? known : this.open(event, type)
    added.wasAdded = true
    added.fields = { ...added.fields, ...fields }
    return this.begin(added)
  }

  /** Begins an item, with the words that have waited for it: a call is nothing to its client without its name. */
  private begin(item: Item): Fields[] {
    const { type, fields } = item
    if (item.index !== null || (isCall(type) && !isText(fields.name))) return []
    item.index = this.begun++
    if (isCall(type) && !isText(fields.call_id)) item.fields = { ...fields, call_id: `call_${randomUUID()}` }
    const before = this.lastCall && isWholeCall(this.lastCall) ? this.finish(this.lastCall, {}, false) : []
    if (isCall(type)) this.lastCall = item
    const waited = [...item.pieces.values()].flatMap((piece) => this.send(item, piece))
    return [...before, itemAdded({ item: item.fields, index: item.index }), ...waited]
  }

  private piece(event: Fields, said: OfPiece): Fields[] {
    const { told, is, text } = said
    const item = this.itemOf(event, told.of) ?? this.open(event, told.of)
    if (item.isDone) return []
    if (isText(event.name) && !isText(item.fields.name)) item.fields = { ...item.fields, name: event.name }
    const piece = stateOf(item, said)
    if (is === 'words') add(piece, text)
    else addAll(piece, text)
    const begun = this.begin(item)
    if (item.index === null) return []
    if (is === 'begin') return [...begun, ...this.beginPiece(item, piece, event)]
    const words = [...begun, ...this.send(item, piece, { event, isAll: is !== 'words' })]
    if (is === 'words') return words
    return [...words, ...(is === 'said' ? this.say(item, piece, event) : this.endPiece(item, piece, event))]
  }

  /** The words that were not sent yet. Arguments that are encoded again wait for their end. */
  private send(item: Item, piece: PieceState, { event = {}, isAll = false }: { event?: Fields; isAll?: boolean } = {}) {
    if (piece.unsent === '' || (piece.isEncoded && !isAll)) return []
    const text = piece.isEncoded ? decodedTwice(piece.unsent) : piece.unsent
    if (piece.isEncoded) piece.text = text
    piece.unsent = ''
    piece.isEncoded = false
    const begun = this.beginPiece(item, piece)
    const { at, delta } = pieceAt(item, piece)
    const own = event.delta === undefined ? {} : event
    return [...begun, { ...delta(text), ...own, ...at, delta: text }]
  }

  private beginPiece(item: Item, piece: PieceState, event: Fields = {}): Fields[] {
    if (piece.hasBegun) return []
    piece.hasBegun = true
    const { at, begin } = pieceAt(item, piece)
    return begin.map((blank) => ({ ...event, ...blank, ...at }))
  }

  private say(item: Item, piece: PieceState, event: Fields): Fields[] {
    if (piece.isSaid) return []
    piece.isSaid = true
    const begun = this.beginPiece(item, piece)
    const { at, said, told, text } = pieceAt(item, piece)
    return [...begun, { ...said, ...event, ...at, [told.field]: text }]
  }

  private endPiece(item: Item, piece: PieceState, event: Fields): Fields[] {
    const { at, said, end, told, text } = pieceAt(item, piece)
    const before = this.say(item, piece, said)
    if (piece.hasEnded) return before
    piece.hasEnded = true
    const part = asFields(event.part)
    const whole = isText(part[told.field]) ? part : { ...told.blank, ...part, [told.field]: text }
    return [...before, ...end.map((one) => ({ ...one, ...event, ...at, part: whole }))]
  }

  private done(event: Fields): Fields[] {
    const item = asFields(event.item)
    const type = typeOf(item)
    const known = this.itemOf(event, type)
    const isAnother = known?.isDone && known.id !== undefined && item.id !== undefined && known.id !== item.id
    return this.finish(known && !isAnother ? known : this.open(event, type), item, false)
  }

  /** Ends an item, once, after everything that was not reported of it. @param isCut whether a limit ended it */
  private finish(item: Item, final: Fields, isCut: boolean): Fields[] {
    if (item.isDone) return []
    item.isDone = true
    const known = Object.fromEntries(Object.entries(item.fields).filter(([, value]) => (value ?? null) !== null))
    item.fields = { ...final, ...known }
    const begun = this.begin(item)
    const { index } = item
    if (index === null) return []
    const { id, call_id: callId, name } = item.fields
    const own = { ...(id !== undefined && { id }), ...(callId !== undefined && { call_id: callId, name }) }
    const words = [...item.pieces.values()].reduce(withWords, { ...item.fields, ...final, ...own })
    const whole = ended(words, final.status, isCut)
    item.fields = whole
    const frames = piecesOf({ item: whole, index }).flatMap((one) => {
      const piece = stateOf(item, one)
      addAll(piece, one.text)
      const rest = this.send(item, piece, { isAll: true })
      return [...rest, ...(one.end[0] ? this.endPiece(item, piece, one.end[0]) : this.say(item, piece, one.said))]
    })
    return [...begun, ...frames, itemDone({ item: whole, index })]
  }

  private annotated(event: Fields): Fields[] {
    const item = this.itemOf(event, 'message')
    if (!item || item.isDone || item.index === null) return []
    return [{ ...event, output_index: item.index, item_id: item.fields.id }]
  }
}

/** An item at its end. The arguments of a call are JSON. */
function ended(item: Fields, said: unknown, isCut: boolean): Fields {
  const type = typeOf(item)
  const args = type === 'function_call' && {
    arguments: isText(item.arguments) ? decodedTwice(item.arguments) : isCut ? '' : '{}',
  }
  if (type !== 'message' && !isCall(type) && !isText(item.status)) return item
  const status = isText(said) && said !== 'in_progress' ? said : isCut ? 'incomplete' : 'completed'
  return { ...item, status, ...args }
}

function stateOf({ pieces }: Item, { told, number }: Pick<Piece, 'told' | 'number'>): PieceState {
  const key = `${told.event} ${number}`
  const known = pieces.get(key)
  if (known) return known
  const flags = { isEncoded: false, hasBegun: false, isSaid: false, hasEnded: false }
  const piece = { told, number, text: '', unsent: '', ...flags }
  pieces.set(key, piece)
  return piece
}

const pieceAt = ({ fields, index }: Item, { told, number, text }: PieceState): Piece =>
  pieceOf({ item: fields, index: index! }, told, number, { ...told.blank, [told.field]: text })

/** Adds further words. */
function add(piece: PieceState, text: string): void {
  if (piece.text === '' && piece.told.of === 'function_call') piece.isEncoded = isEncodedAgain(text)
  piece.text += text
  piece.unsent += text
}

/** Adds what all words have more than those that came. If they differ from those, they were sent already. */
function addAll(piece: PieceState, all: string): void {
  if (all.startsWith(piece.text)) add(piece, all.slice(piece.text.length))
}
