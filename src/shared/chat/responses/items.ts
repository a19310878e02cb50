/**
 * The items of an answer, and the events that report them: the words of an item come piece by piece, a piece for
 * each part of its content or summary, or one for the arguments of a call. Pure.
 */
import { asFields, isFields, isText, listOf } from '../../platform/fields.ts'
import type { Fields } from '../../platform/fields.ts'

/**
 * How the words of a kind of piece are sent. `of`: the type of their item. `list`: the field of the item that has its
 * parts, where it has some.
 */
export type Told = {
  of: string
  event: string
  field: string
  blank: Fields
  more?: Fields
  list?: 'content' | 'summary'
}

/** By the type of a part; of a call, by the type of its item. */
const TOLD: Readonly<Record<string, Told>> = {
  output_text: {
    of: 'message',
    event: 'response.output_text',
    field: 'text',
    blank: { type: 'output_text', text: '', annotations: [] },
    more: { logprobs: [] },
    list: 'content',
  },
  refusal: {
    of: 'message',
    event: 'response.refusal',
    field: 'refusal',
    blank: { type: 'refusal', refusal: '' },
    list: 'content',
  },
  reasoning_text: {
    of: 'reasoning',
    event: 'response.reasoning_text',
    field: 'text',
    blank: { type: 'reasoning_text', text: '' },
    list: 'content',
  },
  summary_text: {
    of: 'reasoning',
    event: 'response.reasoning_summary_text',
    field: 'text',
    blank: { type: 'summary_text', text: '' },
    list: 'summary',
  },
  function_call: {
    of: 'function_call',
    event: 'response.function_call_arguments',
    field: 'arguments',
    blank: { arguments: '' },
  },
  custom_tool_call: {
    of: 'custom_tool_call',
    event: 'response.custom_tool_call_input',
    field: 'input',
    blank: { input: '' },
  },
}

const BY_EVENT = new Map(Object.values(TOLD).map((told) => [`${told.event}.delta`, told]))
const BY_END = new Map(Object.values(TOLD).map((told) => [`${told.event}.done`, told]))

const PART_EVENTS = { content: 'response.content_part', summary: 'response.reasoning_summary_part' } as const
/** The list that items of a type have, even if it is empty. */
const LISTS: Readonly<Record<string, string>> = { message: 'content', reasoning: 'summary' }
const NUMBERS = { content: 'content_index', summary: 'summary_index' } as const

/** The events that report an item and its words. */
export const ITEM_EVENTS: readonly string[] = [
  ...['response.output_item', ...Object.values(PART_EVENTS)].flatMap((name) => [`${name}.added`, `${name}.done`]),
  ...Object.values(TOLD).flatMap(({ event }) => [`${event}.delta`, `${event}.done`]),
]

/** An item at its place in the output. */
export type Placed = { item: Fields; index: number }

/**
 * A piece of the words of an item: its kind, its number among the parts, its text, and the events around its deltas.
 * `at`: its place, which all of them have. `said`: the end of its words. `end`: that of its part, if it is one.
 */
export type Piece = {
  told: Told
  number: number
  text: string
  at: Fields
  begin: Fields[]
  delta: (text: string) => Fields
  said: Fields
  end: Fields[]
}

const textIn = (fields: Fields, name: string): string => (isText(fields[name]) ? fields[name] : '')

/** The pieces of an item, as far as it has them. */
export function piecesOf(placed: Placed): Piece[] {
  const { item } = placed
  const whole = TOLD[String(item.type)]
  if (whole && !whole.list) return [pieceOf(placed, whole, 0, item)]
  return (['summary', 'content'] as const).flatMap((list) =>
    listOf(item[list]).flatMap((part, number) => {
      const told = TOLD[String(part.type)]
      return told?.list === list ? [pieceOf(placed, told, number, part)] : []
    }),
  )
}

/** A piece of an item with the words of `part`: the item itself, where it has no parts. */
export function pieceOf({ item, index }: Placed, told: Told, number: number, part: Fields): Piece {
  const { event, field, list, more, blank } = told
  const at = { item_id: item.id, output_index: index, ...(list && { [NUMBERS[list]]: number }) }
  const text = textIn(part, field)
  const name = told.of === 'function_call' ? { name: item.name } : {}
  return {
    told,
    number,
    text,
    at,
    begin: list ? [{ type: `${PART_EVENTS[list]}.added`, ...at, part: blank }] : [],
    delta: (delta) => ({ type: `${event}.delta`, ...at, delta, ...more }),
    said: { type: `${event}.done`, ...at, [field]: text, ...more, ...name },
    end: list ? [{ type: `${PART_EVENTS[list]}.done`, ...at, part }] : [],
  }
}

/** What an event reports of a piece: some words of it, all of them, its beginning or its end. */
export type OfPiece = { told: Told; number: number; text: string; is: 'words' | 'said' | 'begin' | 'end' }

/** What an event reports of a piece; null where it reports nothing of any. */
export function pieceIn(event: Fields): OfPiece | null {
  const type = String(event.type)
  const part = asFields(event.part)
  const [words, said] = [BY_EVENT.get(type), BY_END.get(type)]
  const told = words ?? said ?? (/part\.(added|done)$/.test(type) ? TOLD[String(part.type)] : undefined)
  if (!told) return null
  const number = told.list ? Number(event[NUMBERS[told.list]] ?? 0) : 0
  if (words) return { told, number, is: 'words', text: textIn(event, 'delta') }
  if (said) return { told, number, is: 'said', text: textIn(event, told.field) }
  return { told, number, is: type.endsWith('done') ? 'end' : 'begin', text: textIn(part, told.field) }
}

/** An item that has the words of a piece, if it has none there. */
export function withWords(item: Fields, { told, number, text }: Pick<Piece, 'told' | 'number' | 'text'>): Fields {
  const { field, list, blank } = told
  if (!list) return textIn(item, field) === '' ? { ...item, [field]: text } : item
  const parts = [...listOf(item[list])]
  if (textIn(parts[number] ?? {}, field) === '') parts[number] = { ...blank, ...parts[number], [field]: text }
  return { ...item, [list]: parts.filter((part) => (part as Fields | undefined) !== undefined) }
}

/** An item as it begins: without words. */
function begunItem(item: Fields): Fields {
  const { encrypted_content: _sealed, ...rest } = item
  const empty = ['content', 'summary'].filter((list) => Array.isArray(item[list]) || LISTS[String(item.type)] === list)
  const lists = Object.fromEntries(empty.map((list) => [list, []]))
  return { ...rest, ...TOLD[String(item.type)]?.blank, ...lists, status: 'in_progress' }
}

/** The event that begins an item. */
export const itemAdded = ({ item, index }: Placed): Fields => ({
  type: 'response.output_item.added',
  output_index: index,
  item: begunItem(item),
})

/** The event that ends an item. */
export const itemDone = ({ item, index }: Placed): Fields => ({
  type: 'response.output_item.done',
  output_index: index,
  item,
})

/** The events of an item that is there as a whole. */
export const eventsOfItem = (placed: Placed): Fields[] => [
  itemAdded(placed),
  ...piecesOf(placed).flatMap(({ text, begin, delta, said, end }) => [
    ...begin,
    ...(text === '' ? [] : [delta(text)]),
    said,
    ...end,
  ]),
  itemDone(placed),
]

/** The words that an event adds to its item; null where it adds none. */
export const wordsOf = ({ type, delta }: Fields): string | null =>
  BY_EVENT.has(String(type)) && isText(delta) ? delta : null

/** Adds the words of an event to its item, in place. */
export function addWords(item: Fields, event: Fields): void {
  const told = BY_EVENT.get(String(event.type))
  const words = wordsOf(event)
  if (!told || words === null) return
  const part = told.list ? partAt(item, told, event[NUMBERS[told.list]]) : item
  part[told.field] = textIn(part, told.field) + words
}

/** The part of an item with this number, or a new one behind the others. */
function partAt(item: Fields, { list, blank }: Told, number: unknown): Fields {
  const parts = (Array.isArray(item[list!]) ? item[list!] : (item[list!] = [])) as unknown[]
  const at = typeof number === 'number' && number < parts.length ? number : parts.length
  const known = parts[at]
  const part = isFields(known) ? known : { ...blank }
  parts[at] = part
  return part
}
