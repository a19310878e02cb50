/**
 * The one place that joins the pieces of a chat's answer: texts, lists of parts, calls of tools, and anything else that
 * an upstream streams.
 */
import { isFields } from '../platform/fields.ts'
import type { Fields } from '../platform/fields.ts'

/** Texts that name something and are never continued: a later one takes the place of an earlier one. */
const LABELS: ReadonlySet<string> = new Set(['id', 'type', 'role', 'name', 'format', 'index', 'object', 'signature'])

/** The fields that have the words of a part. */
const WORDS = ['text', 'thinking', 'summary', 'refusal', 'reasoning'] as const

/** Whether there is anything in a value: an empty text, list or object is nothing, and so are null and false. */
export function saysAnything(value: unknown): boolean {
  if (typeof value !== 'object' || value === null)
    return value !== undefined && value !== null && value !== '' && value !== false && value !== 0
  if (Array.isArray(value)) return value.some(saysAnything)
  for (const name in value) if (saysAnything((value as Fields)[name])) return true
  return false
}

/**
 * Adds further fields to known ones, in place: labels replaced, texts appended, lists joined part by part, calls of
 * tools by their index. What is null adds nothing. The time is that of reading `more`, however much is known; `more` is
 * neither changed nor referred to later.
 */
export function addFields(known: Fields, more: Fields): void {
  for (const name in more) {
    const value = more[name]
    if (name === 'tool_calls' && Array.isArray(value)) known[name] = withCalls(known[name], value)
    else if (name === '__proto__') continue
    else if (!LABELS.has(name)) known[name] = joined(known[name], value)
    else if (value !== null && value !== '') known[name] = owned(value)
  }
}

/** A copy that shares no list and no object with the value. */
export function owned<T>(value: T): T {
  if (Array.isArray(value)) return value.map(owned) as T
  return isFields(value)
    ? (Object.fromEntries(Object.entries(value).map(([name, one]) => [name, owned(one)])) as T)
    : value
}

/** Both values as one; the lists and objects of the known one are added to. */
function joined(known: unknown, more: unknown): unknown {
  if (typeof known === 'string' && typeof more === 'string') return known + more
  if (more === null || more === undefined) return known ?? null
  if (Array.isArray(more)) return withParts(partsOf(known), more)
  if (known === null || known === undefined) return owned(more)
  if (Array.isArray(known)) return withParts(known, partsOf(more))
  if (!isFields(known) || !isFields(more)) return owned(more)
  addFields(known, more)
  return known
}

/** A value as a list of parts. */
function partsOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value
  if (typeof value === 'string') return value === '' ? [] : [{ type: 'text', text: value }]
  return value === null || value === undefined ? [] : [value]
}

function withParts(list: unknown[], more: unknown[]): unknown[] {
  for (const part of more) {
    const last = list.at(-1)
    if (isFields(last) && isFields(part) && continues(last, part)) addFields(last, part)
    else list.push(owned(part))
  }
  return list
}

/** Whether a part goes on with the words of the one before it: of the same kind, number and id, as far as both have. */
function continues(last: Fields, part: Fields): boolean {
  if (typeof last.type !== 'string' || last.type !== part.type) return false
  if (!WORDS.some((name) => saysAnything(last[name]) || name in part)) return false
  const hasWords = WORDS.some((name) => saysAnything(part[name]))
  // A signature ends what it signs.
  if (hasWords && saysAnything(last.signature)) return false
  return (['index', 'id'] as const).every((name) => {
    const [one, other] = [last[name] ?? null, part[name] ?? null]
    return one === null || other === null || one === other
  })
}

/** Calls of tools, with further pieces of them. */
function withCalls(known: unknown, pieces: unknown[]): Fields[] {
  const calls = (Array.isArray(known) ? known : []) as Fields[]
  for (const piece of pieces.filter(isFields)) {
    let call = calls.findLast(({ index }) => index === piece.index)
    if (!call) calls.push((call = {}))
    addFields(call, piece)
  }
  return calls
}
