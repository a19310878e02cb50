/** JSON that was cut off somewhere: what was complete of it, and the text that was being written. */
import type { Fields } from '../platform/fields.ts'
import { asFields } from '../platform/fields.ts'

/** The object that a cut text began to write; an empty one where it is none. */
export function readCut(text: string): Fields {
  try {
    return asFields(JSON.parse(closed(text)))
  } catch {
    return {}
  }
}

/** The text up to its last complete value, or within the string that it ends in, with every bracket closed. */
function closed(text: string): string {
  const open: string[] = []
  let quote = ''
  let isKey = false
  // After the last complete value. No bracket comes after it: each of them begins or completes one.
  let end = 0
  for (let at = 0; at < text.length; at++) {
    const sign = text[at]!
    if (sign === '"') {
      const string = stringAt(text, at)
      if (!string.isWhole && !isKey) {
        end = string.end
        quote = '"'
        break
      }
      at = string.end - 1
      if (!isKey) end = string.end
    } else if (sign === '{' || sign === '[') {
      open.push(sign === '{' ? '}' : ']')
      isKey = sign === '{'
      end = at + 1
    } else if (sign === '}' || sign === ']') {
      open.pop()
      isKey = false
      end = at + 1
    } else if (sign === ':') isKey = false
    else if (sign === ',') {
      end = at
      isKey = open.at(-1) === '}'
    }
  }
  return `${text.slice(0, end)}${quote}${open.toReversed().join('')}`
}

/** Where a string ends: after its closing quote, or before the escape or the end that it was cut off at. */
function stringAt(text: string, from: number): { end: number; isWhole: boolean } {
  for (let at = from + 1; at < text.length; at++) {
    const sign = text[at]
    if (sign === '"') return { end: at + 1, isWhole: true }
    if (sign !== '\\') continue
    const length = text[at + 1] === 'u' ? 6 : 2
    if (at + length > text.length) return { end: at, isWhole: false }
    at += length - 1
  }
  return { end: text.length, isWhole: false }
}
