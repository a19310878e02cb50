/**
 * The one place that joins the pieces of a chat's answer: texts, lists of parts, calls of tools, whatever an upstream
 * streams. Pure.
 */

type Fields = Record<string, unknown>

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Texts that name something and are never continued: a later one takes the place of an earlier one. */
const LABELS: ReadonlySet<string> = new Set(['id', 'type', 'role', 'name', 'format', 'index', 'object', 'signature'])

/** Where the words of a part stand. */
const WORDS = ['text', 'thinking', 'summary', 'refusal', 'reasoning'] as const

/** Whether there is anything in a value: an empty text, list or object is nothing, and so are null and false. */
export const saysAnything = (value: unknown): boolean =>
  typeof value === 'object' && value !== null
    ? Object.values(value).some(saysAnything)
    : value !== undefined && value !== null && value !== '' && value !== false && value !== 0

/**
 * The fields of both: labels replaced, texts appended, lists joined part by part, calls of tools by their index. What
 * is null says nothing.
 */
export function joinedFields(known: Fields, more: Fields): Fields {
  const result = { ...known }
  for (const [name, value] of Object.entries(more)) {
    if (name === 'tool_calls' && Array.isArray(value)) result[name] = joinedCalls(result[name], value)
    else if (name === '__proto__') continue
    else if (!LABELS.has(name)) result[name] = joined(result[name], value)
    else if (value !== null && value !== '') result[name] = value
  }
  return result
}

function joined(known: unknown, more: unknown): unknown {
  if (more === null || more === undefined) return known ?? null
  if (Array.isArray(more)) return joinedLists(partsOf(known), more)
  if (known === null || known === undefined) return more
  if (Array.isArray(known)) return joinedLists(known, partsOf(more))
  if (typeof known === 'string' && typeof more === 'string') return known + more
  return isFields(known) && isFields(more) ? joinedFields(known, more) : more
}

/** A value as a list of parts. */
function partsOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value
  if (typeof value === 'string') return value === '' ? [] : [{ type: 'text', text: value }]
  return value === null || value === undefined ? [] : [value]
}

function joinedLists(known: unknown[], more: unknown[]): unknown[] {
  const list = [...known]
  for (const part of more) {
    const last = list.at(-1)
    if (isFields(last) && isFields(part) && continues(last, part)) list[list.length - 1] = joinedFields(last, part)
    else list.push(part)
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

/** Calls of tools, and further pieces of them. */
function joinedCalls(known: unknown, pieces: unknown[]): Fields[] {
  const calls = (Array.isArray(known) ? [...known] : []) as Fields[]
  for (const piece of pieces.filter(isFields)) {
    const at = calls.findIndex(({ index }) => index === piece.index)
    if (at < 0) calls.push(joinedFields({}, piece))
    else calls[at] = joinedFields(calls[at]!, piece)
  }
  return calls
}
