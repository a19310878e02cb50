/**
 * How long values are as JSON, in UTF-8 bytes, without writing them: the JSON of a large body is as large once more.
 */

/** The UTF-8 bytes of a text as JSON, without its quotes. */
export function jsonBytes(text: string): number {
  let bytes = text.length
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit >= 0x80) bytes += unit < 0x800 ? 1 : unit >= 0xd800 && unit < 0xe000 ? surrogateBytes(text, at) : 2
    else if (unit < 0x20) bytes += SHORT_ESCAPES.has(unit) ? 1 : 5
    else if (unit === 0x22 || unit === 0x5c) bytes += 1
  }
  return bytes
}

/** Control characters with an escape of two bytes; others have six. */
const SHORT_ESCAPES: ReadonlySet<number> = new Set([0x08, 0x09, 0x0a, 0x0c, 0x0d])

/** What half of a pair has beyond one byte: a pair is four bytes, half of one alone an escape of six. */
function surrogateBytes(text: string, at: number): number {
  const unit = text.charCodeAt(at)
  const isPaired = unit < 0xdc00 ? isLow(text.charCodeAt(at + 1)) : isHigh(text.charCodeAt(at - 1))
  return isPaired ? 1 : 5
}

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit < 0xdc00
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit < 0xe000

/** The UTF-8 bytes of `JSON.stringify` of a parsed JSON value, whose objects may have undefined fields. */
export function bytesAsJson(value: unknown): number {
  if (typeof value === 'string') return jsonBytes(value) + 2
  if (typeof value !== 'object' || value === null) return String(JSON.stringify(value ?? null)).length
  let bytes = 2
  let count = 0
  if (Array.isArray(value)) {
    for (const one of value) bytes += bytesAsJson(one)
    count = value.length
  } else {
    for (const name of Object.keys(value)) {
      const field = (value as Record<string, unknown>)[name]
      if (field === undefined) continue
      bytes += jsonBytes(name) + 3 + bytesAsJson(field)
      count += 1
    }
  }
  return bytes + Math.max(0, count - 1)
}
