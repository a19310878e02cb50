import type { Format } from './reading.ts'
import { allowUnpacked, broken, pass, passUntil, take } from './reading.ts'

const SOI = 0xd8
const EOI = 0xd9
const SOS = 0xda

/** Markers without a segment: restarts between pieces of a scan, and TEM. */
const standsAlone = (marker: number) => marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7)

/** The frame headers: C0 to CF but for the tables DHT (C4) and DAC (CC) and the reserved C8. */
const isFrame = (marker: number) => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)

/** The code of a marker whose first FF was read; further FF bytes are filling. */
function* markerCode(): Format<number> {
  let code = 0xff
  while (code === 0xff) code = (yield* take(1))[0]!
  return code
}

/** Passes over compressed data up to the next real marker and returns that marker's code. */
function* endOfScan(): Format<number> {
  for (;;) {
    yield* passUntil(0xff)
    const code = yield* markerCode()
    if (code !== 0 && !standsAlone(code)) return code
  }
}

/**
 * JPEG: a frame header with a size, at least one scan, and an end-of-image marker behind it. What follows that (a
 * second picture, a maker's notes) is let be, as by every decoder.
 */
export function* jpeg(maxUnpacked: number): Format {
  yield* pass(2)
  let frame = false
  let scan = false
  let marker: number | null = null
  for (;;) {
    if (marker === null && (yield* take(1))[0] !== 0xff) throw broken('a marker is missing')
    marker ??= yield* markerCode()
    if (marker === EOI) break
    if (marker === 0 || marker === SOI) throw broken('a marker is out of place')
    if (!standsAlone(marker)) frame = (yield* segment(marker, maxUnpacked)) || frame
    if (marker === SOS && !frame) throw broken('a scan comes before its frame')
    scan ||= marker === SOS
    marker = marker === SOS ? yield* endOfScan() : null
  }
  if (!frame || !scan) throw broken('it has no picture')
}

/** Passes over the segment of a marker; true when it was a frame header. */
function* segment(marker: number, maxUnpacked: number): Format<boolean> {
  const length = (yield* take(2)).readUInt16BE(0)
  if (length < 2) throw broken('a length is wrong')
  if (!isFrame(marker)) {
    yield* pass(length - 2)
    return false
  }
  if (length < 8) throw broken('its frame header is too short')
  const frame = yield* take(length - 2)
  if (frame.readUInt16BE(1) === 0 || frame.readUInt16BE(3) === 0) throw broken('it has no size')
  allowUnpacked(unpackedSize(frame), maxUnpacked)
  return true
}

/** Bytes of a component in a frame header: its id, how it is sampled, its quantization table. */
const COMPONENT_BYTES = 3

/** How many bytes a frame unpacks to: of each component as many samples as it has (colours mostly have fewer). */
function unpackedSize(frame: Buffer): number {
  const [height, width, count] = [frame.readUInt16BE(1), frame.readUInt16BE(3), frame[5] ?? 0]
  const sampling = Array.from({ length: count }, (_one, nth) => frame[7 + nth * COMPONENT_BYTES] ?? 0x11)
  const across = sampling.map((factors) => factors >> 4)
  const down = sampling.map((factors) => factors & 15)
  const [most, highest] = [Math.max(1, ...across), Math.max(1, ...down)]
  return sampling.reduce(
    (sum, _factors, nth) => sum + Math.ceil((width * across[nth]!) / most) * Math.ceil((height * down[nth]!) / highest),
    0,
  )
}
