/**
 * QR codes (ISO/IEC 18004) of texts of up to 520 bytes, in byte mode and at level L: a screen has no damage to correct.
 * Pure. The secret that a code shows leaves the page for no other service that would draw it.
 */

/** By version, from 1: bytes of error correction in a block, and the number of blocks, at level L. */
const CORRECTION = [7, 10, 15, 20, 26, 18, 20, 24, 30, 18, 20, 24, 26, 30, 22]
const BLOCKS = [1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4, 4, 6]

/** Level L in the format of a code. */
const LEVEL = 1

const MASKS: ((x: number, y: number) => number)[] = [
  (x, y) => (x + y) % 2,
  (_x, y) => y % 2,
  (x) => x % 3,
  (x, y) => (x + y) % 3,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2,
  (x, y) => ((x * y) % 2) + ((x * y) % 3),
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2,
]

/** The modules of the code of a text, row by row: true is dark. @throws RangeError for a longer text */
export function qrCode(text: string): boolean[][] {
  const bytes = new TextEncoder().encode(text)
  const version = BLOCKS.findIndex((_, at) => bytes.length + (at < 9 ? 2 : 3) <= dataBytes(at + 1)) + 1
  if (version === 0) throw new RangeError('The text is too long for a QR code.')
  const stream = withCorrection(dataOf(bytes, version), version)
  const codes = MASKS.map((_, mask) => drawn(stream, version, mask))
  return codes.reduce((best, one) => (plainness(one) < plainness(best) ? one : best))
}

/** Alignment patterns in a row, with the corners that finders cover. */
const alignments = (version: number): number => (version === 1 ? 0 : Math.floor(version / 7) + 2)

/** All bytes of a version: its modules but for those of patterns. */
function allBytes(version: number): number {
  const count = alignments(version)
  const ofAlignment = count === 0 ? 0 : (25 * count - 10) * count - 55
  const modules = (16 * version + 128) * version + 64 - ofAlignment - (version < 7 ? 0 : 36)
  return Math.floor(modules / 8)
}

const dataBytes = (version: number): number => allBytes(version) - CORRECTION[version - 1]! * BLOCKS[version - 1]!

const bitsOf = (value: number, length: number): number[] =>
  Array.from({ length }, (_, at) => (value >>> (length - 1 - at)) & 1)

/** The text with its mode and length before it, and padding behind it. */
function dataOf(bytes: Uint8Array, version: number): number[] {
  const bits = [...bitsOf(4, 4), ...bitsOf(bytes.length, version < 10 ? 8 : 16)]
  for (const byte of bytes) bits.push(...bitsOf(byte, 8))
  const capacity = dataBytes(version)
  bits.push(...bitsOf(0, Math.min(4, capacity * 8 - bits.length)))
  while (bits.length % 8 > 0) bits.push(0)
  const data = Array.from({ length: bits.length / 8 }, (_, at) =>
    bits.slice(8 * at, 8 * at + 8).reduce((value, bit) => 2 * value + bit, 0),
  )
  for (let pad = 0xec; data.length < capacity; pad ^= 0xec ^ 0x11) data.push(pad)
  return data
}

/** Blocks of data and their correction, interleaved. */
function withCorrection(data: number[], version: number): number[] {
  const [length, count] = [CORRECTION[version - 1]!, BLOCKS[version - 1]!]
  const total = allBytes(version)
  const short = count - (total % count)
  const divisor = divisorOf(length)
  let from = 0
  const blocks = Array.from({ length: count }, (_, at) => {
    const size = Math.floor(total / count) - length + (at < short ? 0 : 1)
    return data.slice(from, (from += size))
  })
  const corrections = blocks.map((block) => remainderOf(block, divisor))
  const columns = (rows: number[][]): number[] =>
    Array.from({ length: Math.max(...rows.map((row) => row.length)) }, (_, at) =>
      rows.flatMap((row) => (at < row.length ? [row[at]!] : [])),
    ).flat()
  return [...columns(blocks), ...columns(corrections)]
}

/** The product in GF(256) modulo x^8 + x^4 + x^3 + x^2 + 1. */
function product(a: number, b: number): number {
  let result = 0
  for (let bit = 7; bit >= 0; bit--) {
    result = (result << 1) ^ ((result >>> 7) * 0x11d)
    result ^= ((b >>> bit) & 1) * a
  }
  return result
}

/** The Reed-Solomon divisor of a degree, without its leading 1. */
function divisorOf(degree: number): number[] {
  const result = [...Array<number>(degree - 1).fill(0), 1]
  for (let step = 0, root = 1; step < degree; step++, root = product(root, 2))
    for (let at = 0; at < degree; at++) result[at] = product(result[at]!, root) ^ (result[at + 1] ?? 0)
  return result
}

function remainderOf(data: number[], divisor: number[]): number[] {
  const result = divisor.map(() => 0)
  for (const byte of data) {
    const factor = byte ^ result.shift()!
    result.push(0)
    for (const [at, coefficient] of divisor.entries()) result[at]! ^= product(coefficient, factor)
  }
  return result
}

/** The code with one of the masks. */
function drawn(stream: number[], version: number, mask: number): boolean[][] {
  const size = 4 * version + 17
  const modules: (boolean | null)[][] = Array.from({ length: size }, () => Array<boolean | null>(size).fill(null))
  const set = (x: number, y: number, dark: boolean): void => {
    if (modules[y]?.[x] !== undefined) modules[y]![x] = dark
  }
  drawPatterns(set, version)
  drawFormat(set, size, mask)
  let at = 0
  for (const [x, y] of zigzag(size)) {
    if (modules[y]![x] !== null) continue
    const bit = ((stream[at >>> 3] ?? 0) >>> (7 - (at & 7))) & 1
    at += 1
    set(x, y, (bit === 1) !== (MASKS[mask]!(x, y) === 0))
  }
  return modules as boolean[][]
}

type SetModule = (x: number, y: number, dark: boolean) => void

/** Timing, alignment, finders with their margins, and the version. */
function drawPatterns(set: SetModule, version: number): void {
  const size = 4 * version + 17
  const around = (x: number, y: number, reach: number, isDark: (distance: number) => boolean): void => {
    for (let dy = -reach; dy <= reach; dy++)
      for (let dx = -reach; dx <= reach; dx++) set(x + dx, y + dy, isDark(Math.max(Math.abs(dx), Math.abs(dy))))
  }
  for (let at = 0; at < size; at++) {
    set(6, at, at % 2 === 0)
    set(at, 6, at % 2 === 0)
  }
  const count = alignments(version)
  const step = Math.ceil((size - 13) / (2 * count - 2)) * 2
  const places = Array.from({ length: count }, (_, at) => (at === 0 ? 6 : size - 7 - (count - 1 - at) * step))
  const isCorner = (x: number, y: number): boolean => [x, y].includes(6) && [6, size - 7].includes(x + y - 6)
  for (const y of places) for (const x of places) if (!isCorner(x, y)) around(x, y, 2, (distance) => distance !== 1)
  for (const [x, y] of [
    [3, 3],
    [size - 4, 3],
    [3, size - 4],
  ] as const)
    around(x, y, 4, (distance) => distance !== 2 && distance !== 4)
  if (version < 7) return
  const bits = bitsOf((version << 12) | remainder(version, 12, 0x1f25), 18).reverse()
  for (const [at, bit] of bits.entries()) {
    const [far, near] = [size - 11 + (at % 3), Math.floor(at / 3)]
    set(far, near, bit === 1)
    set(near, far, bit === 1)
  }
}

/** The remainder of a number of a BCH code. */
function remainder(value: number, length: number, divisor: number): number {
  let rest = value
  for (let step = 0; step < length; step++) rest = (rest << 1) ^ ((rest >>> (length - 1)) * divisor)
  return rest
}

/** Level and mask, twice. */
function drawFormat(set: SetModule, size: number, mask: number): void {
  const value = (LEVEL << 3) | mask
  const bits = bitsOf(((value << 10) | remainder(value, 10, 0x537)) ^ 0x5412, 15).reverse()
  for (const [at, bit] of bits.entries()) {
    const dark = bit === 1
    if (at < 8) set(8, at < 6 ? at : at + 1, dark)
    else set(at === 8 ? 7 : 14 - at, 8, dark)
    if (at < 8) set(size - 1 - at, 8, dark)
    else set(8, size - 15 + at, dark)
  }
  set(8, size - 8, true)
}

/** All places in the order in which bits are placed: pairs of columns from the right, upwards and downwards in turn. */
function* zigzag(size: number): Generator<[number, number]> {
  let isUp = true
  for (let right = size - 1; right >= 1; right -= 2, isUp = !isUp) {
    if (right === 6) right = 5
    for (let row = 0; row < size; row++) for (const x of [right, right - 1]) yield [x, isUp ? size - 1 - row : row]
  }
}

/** How many squares of four modules have one colour: scanners read codes with few of them best. */
const plainness = (code: boolean[][]): number =>
  code.reduce(
    (sum, row, y) =>
      sum +
      row.filter((dark, x) => [row[x + 1], code[y + 1]?.[x], code[y + 1]?.[x + 1]].every((one) => one === dark)).length,
    0,
  )
