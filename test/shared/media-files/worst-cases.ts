/**
 * Files that take the most work of each parser, by how many elements they have.
 */
import { crc8 } from '../../../src/shared/media-files/flac.ts'
import { oggPage, recording, silence } from './fixtures.ts'

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex')

/** Something so many times, whole each time. */
export const times = (count: number, piece: Buffer): Buffer => Buffer.alloc(Math.ceil(count) * piece.length, piece)

const WEBM_HEAD = hex('1a45dfa3 87 4282 84 7765626d 18538067 01ffffffffffffff')

/** A WebM file of these elements. */
export const webmOf = (...elements: Buffer[]): Buffer => Buffer.concat([WEBM_HEAD, ...elements])

/** A track of Opus whose number is 1. */
const OPUS_TRACK = hex('1654ae6b 90 ae 8e d7 81 01 83 81 02 86 86 415f4f505553')

const CLUSTER = hex('1f43b675 01ffffffffffffff')

/** A group whose length is not known, and in which all that follows is. */
const OPEN_GROUP = hex('a0 ff')

/**
 * WebM files with the clusters of another one inside an element that decoders cannot read, so that they search it: a
 * time that is too long, a block without a number, of no track, or whose lace is broken.
 */
export const hiddenClusters = (webm: Buffer): Buffer[] =>
  ['e7', 'a3', 'a3 85000080', 'a3 81000006ff', 'a1 85000000'].map((begin) => {
    const [id, ...head] = begin.split(' ')
    const content = Buffer.concat([hex(head.join('')), webm.subarray(webm.indexOf(hex('1f43b675')))])
    const length = Buffer.alloc(8)
    length.writeUInt32BE(0x01000000)
    length.writeUInt32BE(content.length, 4)
    return webmOf(OPUS_TRACK, CLUSTER, hex('e7 81 00 a3 85 81 0000 80 08'), hex(id!), length, content)
  })

/** Parents in each other, all of them open, and empty elements in the last. */
export const openParents = (parents: number, elements: number): Buffer =>
  webmOf(times(parents, OPEN_GROUP), times(elements, hex('ec 80')))

/** Empty tracks, and blocks of a track that there is not. */
export const emptyTracks = (tracks: number, blocks: number): Buffer =>
  webmOf(times(tracks, hex('ae 80')), CLUSTER, times(blocks, hex('a3 84 85 0000 80')))

/** A box of an MP4 file. */
export function box(type: string, ...content: Buffer[]): Buffer {
  const head = Buffer.alloc(8)
  head.writeUInt32BE(8 + content.reduce((sum, { length }) => sum + length, 0))
  head.write(type, 4)
  return Buffer.concat([head, ...content])
}

/** An empty packet of Opus in a stream of its own. */
export const oggStream = (serial: number): Buffer => oggPage(serial, 2, Buffer.from([8]), Buffer.from('OpusHead'))

const flacFrame = (): Buffer => {
  const head = hex('fff8 c4 08 00')
  return Buffer.concat([head, Buffer.from([crc8(head)])])
}

/** By format: files of so many elements, each of which costs its parser as much as one can. */
export const WORST: Record<string, (elements: number) => Buffer> = {
  'WAV of chunks': (elements) => Buffer.concat([silence(1), times(Math.min(elements, 9000), hex('4a554e4b 00000000'))]),
  'MP3 of the shortest frames': (elements) => times(elements, Buffer.concat([hex('ffe31800'), Buffer.alloc(68)])),
  'MP3 of heads that begin nothing': (elements) =>
    Buffer.concat([
      times(2 * elements, Buffer.concat([hex('fffb9064'), Buffer.alloc(413)])),
      times(elements, hex('fffb')),
    ]),
  'Ogg of empty packets': (elements) =>
    Buffer.concat([
      oggStream(1),
      times(elements / 250, oggPage(1, 0, Buffer.alloc(250), Buffer.alloc(0))),
      recording('opus.ogg'),
    ]),
  'Ogg of marks of no pages': (elements) => Buffer.concat([recording('opus.ogg'), times(elements, hex('4f676752'))]),
  'FLAC of heads of frames': (elements) =>
    Buffer.concat([recording('s.flac').subarray(0, 8300), times(elements, flacFrame())]),
  'FLAC of heads that are none': (elements) =>
    Buffer.concat([recording('s.flac').subarray(0, 8300), times(elements, hex('fff8c4080000'))]),
  'M4A of entries': (elements) =>
    Buffer.concat([
      box('ftyp', Buffer.from('M4A ')),
      box(
        'moov',
        box('trak', box('stbl', box('stts', hex('00000000 7fffffff'), times(elements, hex('00000001 00000400'))))),
      ),
    ]),
  'WebM of empty elements': (elements) => webmOf(OPUS_TRACK, CLUSTER, times(elements, hex('ec 80'))),
  'WebM of blocks': (elements) => webmOf(OPUS_TRACK, CLUSTER, times(elements, hex('a3 86 81 0000 80 1b01'))),
  'WebM of laces': (elements) =>
    webmOf(
      OPUS_TRACK,
      CLUSTER,
      times(elements / 200, Buffer.concat([hex('a3 40cc 81 0000 86 c7'), times(199, hex('80'))])),
    ),
  'WebM of blocks that are too long': (elements) =>
    webmOf(OPUS_TRACK, times(elements / 10, hex('1f43b675 a0 a3 07ffff 81 0000 82 ff'))),
}

/** How many elements make about 25 MB, which is the longest file. */
export const LARGEST: Record<string, number> = Object.fromEntries(
  Object.entries(WORST).map(([name, fileOf]) => [name, Math.floor((25e6 / fileOf(100_000).length) * 500) * 200]),
)
