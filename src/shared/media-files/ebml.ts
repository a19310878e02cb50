/** EBML (RFC 8794), of which WebM is made: its numbers and its elements. Pure. */

/** Elements of WebM by their ids (RFC 9559). */
export const ID = {
  docType: 0x4282,
  segment: 0x18538067,
  info: 0x1549a966,
  tracks: 0x1654ae6b,
  track: 0xae,
  number: 0xd7,
  type: 0x83,
  codec: 0x86,
  settings: 0x63a2,
  encodings: 0x6d80,
  cluster: 0x1f43b675,
  group: 0xa0,
  block: 0xa1,
  simpleBlock: 0xa3,
} as const

/** A number, and how many bytes it has. */
export type EbmlNumber = { value: number; bytes: number }

/** How many bytes the number has that this byte begins: 9 if it begins none. */
export const lengthOf = (first: number): number => Math.clz32(first) - 23

/** The number at a place, of `most` bytes at most; null if there is no number. @param withMark as ids are written */
export function numberAt(bytes: Buffer, place: number, most: number, withMark: boolean): EbmlNumber | null {
  const first = bytes[place] ?? 0
  const length = lengthOf(first)
  if (length > most || bytes.length < place + length) return null
  let value = withMark ? first : first & (0xff >> length)
  for (let at = 1; at < length; at++) value = value * 256 + bytes[place + at]!
  return { value, bytes: length }
}

/**
 * How long an element is, by the number behind its id: `Infinity` where all bits are set, which means an unknown
 * length.
 */
export function lengthAt(bytes: Buffer, place: number): EbmlNumber | null {
  const length = numberAt(bytes, place, 8, false)
  return length && length.value >= 2 ** (7 * length.bytes) - 1 ? { ...length, value: Infinity } : length
}

/** The elements of bytes in memory, up to the first that is not whole. */
export function* elementsIn(bytes: Buffer): Generator<{ id: number; content: Buffer }> {
  for (let end = 0; ;) {
    const id = numberAt(bytes, end, 4, true)
    const length = id && lengthAt(bytes, end + id.bytes)
    if (!id || !length) return
    const from = end + id.bytes + length.bytes
    end = from + length.value
    if (end > bytes.length) return
    yield { id: id.value, content: bytes.subarray(from, end) }
  }
}
