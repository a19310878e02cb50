/**
 * The setup header of Vorbis (Vorbis I, 4.2.4): all of it is read, since what matters is at its end, and decoders find
 * it from the beginning.
 */
import { NoSound } from './reader.ts'

/** Which modes have long blocks, and how many bits a packet states its mode in. */
export type VorbisModes = { long: readonly boolean[]; bits: number }

/** The longest setup header, in bytes: encoders write a quarter of it. */
export const MAX_SETUP_BYTES = 32_768

/** @param setup the third packet of a stream. @throws NoSound if it is no setup for this number of channels */
export function modesOf(setup: Buffer, channels: number): VorbisModes {
  if (setup.toString('latin1', 0, 7) !== '\x05vorbis') throw broken()
  const bits = new Bits(setup, 7)
  bits.repeat(bits.read(8) + 1, () => readCodebook(bits))
  // Of time domain transforms, which no encoder has.
  bits.repeat(bits.read(6) + 1, () => bits.skip(16))
  bits.repeat(bits.read(6) + 1, () => readFloor(bits))
  bits.repeat(bits.read(6) + 1, () => readResidue(bits))
  bits.repeat(bits.read(6) + 1, () => readMapping(bits, channels))
  const long: boolean[] = []
  bits.repeat(bits.read(6) + 1, () => {
    long.push(bits.read(1) === 1)
    bits.skip(16 + 16 + 8)
  })
  return { long, bits: bitsOf(long.length - 1) }
}

const broken = (): NoSound => new NoSound('has a broken head of Vorbis')

/** How many bits a number has; 0 has none. */
const bitsOf = (value: number): number => 32 - Math.clz32(value)

/** Reads bits, the lowest of each byte first. */
class Bits {
  private readonly bytes: Buffer
  private at: number

  constructor(bytes: Buffer, from: number) {
    this.bytes = bytes
    this.at = from * 8
  }

  /** The next up to 32 bits. @throws NoSound behind the end */
  read(count: number): number {
    let value = 0
    const from = this.at
    this.skip(count)
    for (let done = 0; done < count;) {
      const [byte, bit] = [this.bytes[(from + done) >> 3]!, (from + done) & 7]
      const taken = Math.min(8 - bit, count - done)
      value += ((byte >> bit) & ((1 << taken) - 1)) * 2 ** done
      done += taken
    }
    return value
  }

  /** Passes over bits. @throws NoSound behind the end */
  skip(count: number): void {
    this.at += count
    if (this.at > this.bytes.length * 8) throw broken()
  }

  /** Reads something `times` times: each takes at least a bit, so that the header bounds how many. */
  repeat(times: number, read: () => void): void {
    for (let time = 0; time < times; time++) read()
  }
}

function readCodebook(bits: Bits): void {
  if (bits.read(24) !== 0x564342) throw broken()
  const dimensions = bits.read(16)
  const entries = bits.read(24)
  readLengths(bits, entries)
  const lookup = bits.read(4)
  if (lookup > 2) throw broken()
  if (lookup === 0) return
  bits.skip(32 + 32)
  const valueBits = bits.read(4) + 1
  bits.skip(1)
  const values = lookup === 2 ? entries * dimensions : rootOf(entries, dimensions)
  bits.skip(values * valueBits)
}

function readLengths(bits: Bits, entries: number): void {
  const isOrdered = bits.read(1) === 1
  if (isOrdered) return readOrderedLengths(bits, entries)
  const isSparse = bits.read(1) === 1
  if (isSparse) bits.repeat(entries, () => bits.read(1) === 1 && bits.skip(5))
  else bits.skip(5 * entries)
}

function readOrderedLengths(bits: Bits, entries: number): void {
  bits.skip(5)
  for (let read = 0; read < entries;) {
    const width = bitsOf(entries - read)
    read += bits.read(width)
    if (read > entries) throw broken()
  }
}

/** The largest number whose power of `dimensions` is at most the number of entries. */
function rootOf(entries: number, dimensions: number): number {
  if (dimensions === 0) throw broken()
  let root = Math.floor(entries ** (1 / dimensions))
  while ((root + 1) ** dimensions <= entries) root++
  while (root > 0 && root ** dimensions > entries) root--
  return root
}

function readFloor(bits: Bits): void {
  const type = bits.read(16)
  if (type > 1) throw broken()
  if (type === 0) {
    bits.skip(8 + 16 + 16 + 6 + 8)
    return bits.skip(8 * (bits.read(4) + 1))
  }
  const partitions = Array.from({ length: bits.read(5) }, () => bits.read(4))
  const dimensions = Array.from({ length: Math.max(-1, ...partitions) + 1 }, () => {
    const ofClass = bits.read(3) + 1
    const subclasses = bits.read(2)
    bits.skip((subclasses > 0 ? 8 : 0) + 8 * 2 ** subclasses)
    return ofClass
  })
  bits.skip(2)
  const rangeBits = bits.read(4)
  bits.skip(rangeBits * partitions.reduce((sum, one) => sum + dimensions[one]!, 0))
}

function readResidue(bits: Bits): void {
  if (bits.read(16) > 2) throw broken()
  bits.skip(24 + 24 + 24)
  const classes = bits.read(6) + 1
  bits.skip(8)
  const books = Array.from({ length: classes }, () => {
    const low = bits.read(3)
    return low + (bits.read(1) === 1 ? 8 * bits.read(5) : 0)
  })
  for (const book of books) for (let left = book; left > 0; left >>= 1) if (left & 1) bits.skip(8)
}

function readMapping(bits: Bits, channels: number): void {
  if (bits.read(16) !== 0) throw broken()
  const submaps = bits.read(1) === 1 ? bits.read(4) + 1 : 1
  if (bits.read(1) === 1) {
    const steps = bits.read(8) + 1
    bits.skip(steps * 2 * bitsOf(channels - 1))
  }
  if (bits.read(2) !== 0) throw broken()
  if (submaps > 1) bits.skip(4 * channels)
  bits.skip(submaps * 24)
}
