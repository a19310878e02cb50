/**
 * The items of an answer, and the events that report them: the words of an item come piece by piece, a piece for
 * each part of its content or summary, or one for the arguments of a call. Pure.
 */
import { isFields, isText, listOf } from '../../platform/fields.ts'
import type { Fields } from '../../platform/fields.ts'

/** How the words of a kind of piece are sent. `list`: the field of the item that has its parts, where it has some. */
type Told = { event: string; field: string; blank: Fields; more?: Fields; list?: 'content' | 'summary' }

/** By the type of a part; of a call, by the type of its item. */
const TOLD: Readonly<Record<string, Told>> = {
  output_text: {
    event: 'response.output_text',
    field: 'text',
    blank: { type: 'output_text', text: '', annotations: [] },
    more: { logprobs: [] },
    list: 'content',
  },
  refusal: { event: 'response.refusal', field: 'refusal', blank: { type: 'refusal', refusal: '' }, list: 'content' },
  reasoning_text: {
    event: 'response.reasoning_text',
    field: 'text',
    blank: { type: 'reasoning_text', text: '' },
    list: 'content',
  },
  summary_text: {
    event: 'response.reasoning_summary_text',
    field: 'text',
    blank: { type: 'summary_text', text: '' },
    list: 'summary',
  },
  function_call: { event: 'response.function_call_arguments', field: 'arguments', blank: { arguments: '' } },
  custom_tool_call: { event: 'response.custom_tool_call_input', field: 'input', blank: { input: '' } },
}

const BY_EVENT = new Map(Object.values(TOLD).map((told) => [`${told.event}.delta`, told]))

const PART_EVENTS = { content: 'response.content_part', summary: 'response.reasoning_summary_part' } as const
const NUMBERS = { content: 'content_index', summary: 'summary_index' } as const

/** The events that report an item and its words. */
export const ITEM_EVENTS: readonly string[] = [
  ...['response.output_item', ...Object.values(PART_EVENTS)].flatMap((name) => [`${name}.added`, `${name}.done`]),
  ...Object.values(TOLD).flatMap(({ event }) => [`${event}.delta`, `${event}.done`]),
]

/** An item at its place in the output. */
export type Placed = { item: Fields; index: number }

/** A piece of the words of an item: its text, and the events around its deltas. */
export type Piece = { text: string; begin: Fields[]; delta: (text: string) => Fields; end: Fields[] }

const textIn = (fields: Fields, name: string): string => (isText(fields[name]) ? fields[name] : '')

/** The pieces of an item, as far as it has them. */
export function piecesOf({ item, index }: Placed): Piece[] {
  const at = { item_id: item.id, output_index: index }
  const whole = TOLD[String(item.type)]
  if (whole) {
    const text = textIn(item, whole.field)
    const name = item.type === 'function_call' ? { name: item.name } : {}
    return [pieceOf(whole, text, at, [], [{ type: `${whole.event}.done`, ...at, [whole.field]: text, ...name }])]
  }
  return (['summary', 'content'] as const).flatMap((list) =>
    listOf(item[list]).flatMap((part, number) => {
      const told = TOLD[String(part.type)]
      return told?.list === list ? [partPiece(told, part, { ...at, [NUMBERS[list]]: number })] : []
    }),
  )
}

const pieceOf = (told: Told, text: string, at: Fields, begin: Fields[], end: Fields[]): Piece => ({
  text,
  begin,
  delta: (delta) => ({ type: `${told.event}.delta`, ...at, delta, ...told.more }),
  end,
})

function partPiece(told: Told, part: Fields, at: Fields): Piece {
  const text = textIn(part, told.field)
  const event = PART_EVENTS[told.list!]
  const begin = [{ type: `${event}.added`, ...at, part: told.blank }]
  const end = [
    { type: `${told.event}.done`, ...at, [told.field]: text, ...told.more },
    { type: `${event}.done`, ...at, part },
  ]
  return pieceOf(told, text, at, begin, end)
}

/** An item as it begins: without words. */
function begunItem(item: Fields): Fields {
  const { encrypted_content: _sealed, ...rest } = item
  const empty = ['content', 'summary'].filter((list) => Array.isArray(item[list])).map((list) => [list, []])
  return { ...rest, ...TOLD[String(item.type)]?.blank, ...Object.fromEntries(empty), status: 'in_progress' }
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
  ...piecesOf(placed).flatMap(({ text, begin, delta, end }) => [
    ...begin,
    ...(text === '' ? [] : [delta(text)]),
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
