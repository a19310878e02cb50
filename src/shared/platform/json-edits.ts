/**
 * Edits of JSON text in place: what does not change stays as it was written, with its order, white space, escapes and
 * digits. Only what contains an edit is looked at closely. Pure.
 */
import { isFields } from './fields.ts'

/** Where something is in a text: from `start` to before `end`. */
type Span = { start: number; end: number }

/** A member of an object, which begins with its name. */
type Member = Span & { name: string; valueAt: number }

/** A piece of a list or an object: the place that it had, if it had one, and its new text; null: as it was. */
type Piece = { index: number | null; text: string | null }

/**
 * A value as JSON, written over the text of another one: what both have is as it was written there. Of several members
 * of one name only the last stays, as `JSON.parse` reads it.
 * @param before what `JSON.parse` makes of the text
 * @param after what is to be written: what it has of `before` itself is not compared
 */
export function writtenOver(text: string, before: unknown, after: unknown): string {
  const start = afterSpace(text, 0)
  return edited(text, { start, end: afterValue(text, start) }, before, after) ?? text
}

/** The text of a value in the place of another; null if it is the same. */
function edited(text: string, span: Span, before: unknown, after: unknown): string | null {
  if (before === after) return null
  if (isFields(before) && isFields(after)) return editedObject(text, span, before, after)
  if (Array.isArray(before) && Array.isArray(after)) return editedList(text, span, before, after)
  return JSON.stringify(after ?? null)
}

type Fields = Record<string, unknown>

function editedObject(text: string, span: Span, before: Fields, after: Fields): string | null {
  const members = membersOf(text, span)
  const last = new Map(members.map(({ name }, index) => [name, index]))
  const has = (name: string): boolean => Object.hasOwn(after, name) && after[name] !== undefined
  const pieces = members.flatMap((member, index): Piece[] => {
    const { name, start, valueAt, end } = member
    if (last.get(name) !== index || !has(name)) return []
    const value = edited(text, { start: valueAt, end }, before[name], after[name])
    return [{ index, text: value === null ? null : text.slice(start, valueAt) + value }]
  })
  const added = Object.keys(after)
    .filter((name) => !last.has(name) && has(name))
    .map((name): Piece => ({ index: null, text: `${JSON.stringify(name)}:${JSON.stringify(after[name])}` }))
  return joined(text, span, members, [...pieces, ...added])
}

function editedList(text: string, span: Span, before: readonly unknown[], after: readonly unknown[]): string | null {
  const items = itemsOf(text, span)
  let next = 0
  const pieces = after.map((value, place): Piece => {
    // As many as are missing may have been removed in front of it.
    const removed = items.length - next - (after.length - place)
    const index = removed > 0 ? mostAlike(before, value, { from: next, to: next + removed }) : next
    const item = items[index]
    if (!item) return { index: null, text: JSON.stringify(value ?? null) }
    next = index + 1
    return { index, text: edited(text, item, before[index], value) }
  })
  return joined(text, span, items, pieces)
}

/** How many elements are looked at for one that has changed. */
const MOST_LOOKED_AT = 16

/** The place of an element as it was: of the same one, or else of the first with the most members in common. */
function mostAlike(before: readonly unknown[], value: unknown, { from, to }: { from: number; to: number }): number {
  const same = before.indexOf(value, from)
  if (same >= 0 && same <= to) return same
  const likenesses = before.slice(from, Math.min(to + 1, from + MOST_LOOKED_AT)).map((one) => likeness(one, value))
  return from + likenesses.indexOf(Math.max(...likenesses))
}

const likeness = (one: unknown, other: unknown): number =>
  isFields(one) && isFields(other) ? Object.keys(one).filter((name) => one[name] === other[name]).length : 0

/** A list or an object of these pieces, with what was between them; null if nothing has changed. */
function joined(text: string, span: Span, places: readonly Span[], pieces: readonly Piece[]): string | null {
  const isSame = (piece: Piece, at: number): boolean => piece.index === at && piece.text === null
  if (pieces.length === places.length && pieces.every(isSame)) return null
  const open = text.slice(span.start, places[0]?.start ?? span.start + 1)
  const close = text.slice(places.at(-1)?.end ?? span.end - 1, span.end)
  const body = pieces.map(({ index, text: piece }, at) => {
    const place = index === null ? undefined : places[index]!
    const before = index === null || index === 0 ? ',' : text.slice(places[index - 1]!.end, place!.start)
    return (at === 0 ? '' : before) + (piece ?? text.slice(place!.start, place!.end))
  })
  return open + body.join('') + close
}

function membersOf(text: string, { start }: Span): Member[] {
  const members: Member[] = []
  for (let at = afterSpace(text, start + 1); text[at] !== '}'; at = nextPiece(text, at)) {
    const nameEnd = afterString(text, at)
    const written = text.slice(at, nameEnd)
    const name = written.includes('\\') ? (JSON.parse(written) as string) : written.slice(1, -1)
    // Behind the colon.
    const valueAt = afterSpace(text, afterSpace(text, nameEnd) + 1)
    const end = afterValue(text, valueAt)
    members.push({ name, start: at, valueAt, end })
    at = end
  }
  return members
}

function itemsOf(text: string, { start }: Span): Span[] {
  const items: Span[] = []
  for (let at = afterSpace(text, start + 1); text[at] !== ']'; at = nextPiece(text, at)) {
    const end = afterValue(text, at)
    items.push({ start: at, end })
    at = end
  }
  return items
}

/** Where the next piece begins, or the bracket is. */
function nextPiece(text: string, end: number): number {
  const at = afterSpace(text, end)
  return text[at] === ',' ? afterSpace(text, at + 1) : at
}

function afterSpace(text: string, from: number): number {
  for (let at = from; ; at++) {
    const code = text.charCodeAt(at)
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at
  }
}

/** Behind a text, whose quotes are escaped. */
function afterString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); ; at = text.indexOf('"', at + 1)) {
    if (at < 0) return text.length
    let escapes = 0
    while (text[at - 1 - escapes] === '\\') escapes++
    if (escapes % 2 === 0) return at + 1
  }
}

/** What ends a number or a word. */
const NO_SCALAR = /[\s,\]}]|$/g

function afterValue(text: string, start: number): number {
  const first = text[start]
  if (first === '"') return afterString(text, start)
  if (first !== '{' && first !== '[') {
    NO_SCALAR.lastIndex = start
    return NO_SCALAR.exec(text)?.index ?? text.length
  }
  let depth = 0
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 0x22) at = afterString(text, at) - 1
    else if (code === 0x7b || code === 0x5b) depth++
    else if ((code === 0x7d || code === 0x5d) && --depth === 0) return at + 1
  }
  return text.length
}

const NUMBER = /-?\d[\d.eE+-]*/g

/** How many characters the numbers of a JSON text have beyond those that `JSON.stringify` writes for them. */
export function excessDigits(text: string): number {
  let excess = 0
  for (let at = 0; at < text.length;) {
    const quote = text.indexOf('"', at)
    const end = quote < 0 ? text.length : quote
    for (const [number] of text.slice(at, end).matchAll(NUMBER))
      excess += Math.max(0, number.length - JSON.stringify(Number(number)).length)
    at = quote < 0 ? text.length : afterString(text, quote)
  }
  return excess
}
