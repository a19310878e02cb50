import { expect } from 'chai'
import type { MediaKind } from '../../../src/shared/media/media.ts'
import { pngAround, rows } from './bombs.ts'
import { fixture } from './media-files.ts'
import { refusal, refused } from './inspecting.ts'

/** An MP4 or QuickTime box, of its own length if none is stated. */
function box(type: string, content: Buffer, length = 8 + content.length): Buffer {
  const head = Buffer.alloc(8)
  head.writeUInt32BE(length, 0)
  head.write(type, 4, 'latin1')
  return Buffer.concat([head, content])
}

/** A copy of a file, edited. */
function edited(name: string, edit: (file: Buffer) => void): Buffer {
  const file = Buffer.from(fixture(name))
  edit(file)
  return file
}

const latin = (text: string): Buffer => Buffer.from(text, 'latin1')
const hex = (text: string): Buffer => Buffer.from(text, 'hex')
const GIF = 'GIF89a\x01\x00\x01\x00\x00\x00\x00'

const plain = fixture('plain.mp4')
const at = plain.indexOf('moov') - 4
const movie = plain.subarray(at, at + plain.readUInt32BE(at))
const type = box('ftyp', Buffer.from('isom\0\0\0\0isom'))
const data = box('mdat', Buffer.alloc(100))
const large = Buffer.concat([latin('\0\0\0\x01mdat\0\0\0\0\0\0\0\x74'), Buffer.alloc(100)])
const free = box('free', Buffer.alloc(3))
const DEPTH = 20_000
const deep = Buffer.concat(Array.from({ length: DEPTH }, (_, nth) => box('trak', Buffer.alloc(0), 8 * (DEPTH - nth))))
const tooLong = Buffer.from(movie)
const track = tooLong.indexOf('trak') - 4
tooLong.writeUInt32BE(tooLong.readUInt32BE(track) + 40_000, track)

/** A recording whose clusters have no length. */
const live = edited('live.webm', (file) => {
  const cluster = file.indexOf(hex('1f43b675')) + 4
  const width = Math.clz32(file[cluster]!) - 24 + 1
  const unknown = Buffer.alloc(width, 0xff)
  unknown[0] = 0xff >> (width - 1)
  unknown.copy(file, cluster)
})

const TAKEN: [what: string, kind: MediaKind, file: Buffer][] = [
  ['a PNG of the size that its header states', 'image', pngAround(10, 10, rows(110))],
  ['a JPEG that is complete, whatever follows', 'image', Buffer.concat([fixture('baseline.jpg'), Buffer.alloc(5000)])],
  ['a movie before its data', 'video', Buffer.concat([type, movie, data])],
  ['a movie behind its data', 'video', Buffer.concat([type, data, movie])],
  ['a movie with lengths of 64 bits', 'video', Buffer.concat([type, movie, large])],
  ['a movie with free room', 'video', Buffer.concat([type, free, movie, data])],
  ['a WebM of a live recorder', 'video', live],
]

/** `why`: what the refusal says, or its reason; any other is as good. */
const REFUSED: [what: string, kind: MediaKind, file: Buffer, why?: RegExp][] = [
  ['a PNG with too few pixels', 'image', pngAround(10, 10, rows(109)), /pixels are missing/],
  ['a PNG with too many pixels', 'image', pngAround(10, 10, rows(111)), /more pixels/],
  ['a PNG that is not packed', 'image', pngAround(10, 10, latin('not packed')), /do not unpack/],
  ['a decompression bomb', 'image', pngAround(1000, 1000, rows(64 * 1024 * 1024)), /more pixels/],
  ['a PNG that would be too large', 'image', pngAround(60_000, 60_000, rows(10)), /too_large/],
  ['a PNG without a width', 'image', pngAround(0, 10, rows(10))],
  ['a PNG without a height', 'image', pngAround(10, 0, rows(10))],
  ['a JPEG of markers alone', 'image', hex('ffd8ffd9')],
  ['a JPEG with a header alone', 'image', hex('ffd8ffe000104a46494600010100000100010000ffd9')],
  ['a JPEG with a marker of zero', 'image', hex('ffd8ff00')],
  ['a JPEG that begins twice', 'image', hex('ffd8ffd8ffd9')],
  ['a JPEG with a scan of nothing', 'image', hex('ffd8ffda00020102ffd9')],
  ['a JPEG with a segment that is too short', 'image', hex('ffd8ffe00001ffd9')],
  ['a GIF without an image', 'image', latin(`${GIF};`)],
  ['a GIF whose image has no data', 'image', latin(`${GIF},\0\0\0\0\x01\0\x01\0\0\x02\0;`)],
  [
    'a WebP that is too long',
    'image',
    edited('lossy.webp', (file) => file.writeUInt32LE(file.readUInt32LE(4) - 2, 4)),
    /add up/,
  ],
  ['a WebP without an image', 'image', latin('RIFF\x04\0\0\0WEBP')],
  [
    'a WebP whose image does not begin',
    'image',
    edited('lossless.webp', (file) => void (file[20] = 0)),
    /does not begin/,
  ],
  ['an MP4 of its type alone', 'video', type],
  ['an MP4 without a movie', 'video', Buffer.concat([type, data])],
  ['an MP4 without data', 'video', Buffer.concat([type, movie])],
  ['an MP4 with empty data', 'video', Buffer.concat([type, movie, box('mdat', Buffer.alloc(0))])],
  ['boxes that are longer than their box', 'video', Buffer.concat([type, tooLong, data]), /do not add up/],
  ['a box without a name', 'video', Buffer.concat([type, movie, data, Buffer.alloc(16)]), /no name/],
  ['boxes in boxes without end', 'video', Buffer.concat([type, box('moov', deep), data]), /no video track/],
  ['a box of a wrong length', 'video', Buffer.concat([type, latin('\0\0\0\x04free'), movie, data]), /wrong length/],
  ['a live WebM that is cut', 'video', live.subarray(0, -1)],
  [
    'a WebM that is too long',
    'video',
    edited('plain.webm', (file) => void (file[file.indexOf(hex('18538067')) + 11]! -= 1)),
    /add up/,
  ],
  [
    'a WebM with an unknown element',
    'video',
    edited('plain.webm', (file) => file.writeUInt32BE(0x1f43b676, file.indexOf(hex('1f43b675')))),
    /unknown element/,
  ],
]

describe('inspect, format by format', () => {
  for (const [what, kind, file] of TAKEN)
    it(`takes ${what}`, async () => expect(await refused(file, kind)).to.equal(false))

  for (const [what, kind, file, why = /./] of REFUSED) {
    it(`refuses ${what}`, async () => {
      const { reason, message } = await refusal(file, kind)
      expect(`${reason}: ${message}`).to.match(why)
    })
  }
})
