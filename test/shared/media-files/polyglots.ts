/**
 * Files that are of two formats: of one that costs little, and of another in which much more is heard.
 */
import { atPosition, recording, wavOf } from './fixtures.ts'
import { hiddenClusters, times } from './worst-cases.ts'

/** A file, and whether it is one of those that a customer may send. */
export type Made = { name: string; bytes: Buffer; isHonest?: true }

/** Long audio, which is what a polyglot hides. */
const LONG = '-f lavfi -i anullsrc=r=8000:cl=mono -t 60'

/** @param make has ffmpeg write a file to its output */
export function polyglots(make: (...args: string[]) => Buffer): Made[] {
  const as = (format: string, options = ''): Buffer =>
    make(...`${LONG} ${options} -f ${format}`.split(' ').filter((word) => word !== ''))
  const mp3 = make(...'-f lavfi -i sine -t 4 -c:a libmp3lame -write_xing 0 -id3v2_version 0 -f mp3'.split(' '))
  const long = {
    flac: as('flac'),
    opus: as('ogg', '-c:a libopus -b:a 6k'),
    webm: as('webm', '-c:a libopus -b:a 6k'),
    wav: as('wav'),
    adts: as('adts', '-c:a aac'),
    loas: as('latm', '-c:a aac'),
    ac3: as('ac3', '-ar 32000 -b:a 32k'),
    nut: as('nut', '-c:a libopus -b:a 6k'),
    ts: as('mpegts', '-c:a aac'),
    ps: as('vob', '-c:a mp2 -ar 16000 -b:a 8k'),
    spdif: as('spdif', '-c:a ac3 -ar 32000 -b:a 32k'),
    mp3: as('mp3', '-c:a libmp3lame -b:a 8k -write_xing 0 -id3v2_version 0'),
    m4a: recording('aac.m4a'),
  }
  const all = Object.entries(long)
  return [
    { name: 'MP3 with a tag', bytes: Buffer.concat([tagOf(Buffer.alloc(500)), mp3]), isHonest: true },
    {
      name: 'MP3 with two tags',
      bytes: Buffer.concat([tagOf(Buffer.alloc(5)), tagOf(Buffer.alloc(9)), mp3]),
      isHonest: true,
    },
    ...all.map(([name, bytes]) => ({
      name: `${name} behind an empty tag`,
      bytes: Buffer.concat([tagOf(Buffer.alloc(0)), bytes]),
    })),
    ...all.map(([name, bytes]) => ({
      name: `MP3 behind a tag of ${name}`,
      bytes: Buffer.concat([tagOf(bytes), mp3, bytes]),
    })),
    ...all.map(([name, bytes]) => ({ name: `${name} in the frames of MP3`, bytes: inFrames(bytes) })),
    ...all.flatMap(([name, bytes]) => [
      { name: `${name} in samples of 16 bits`, bytes: fastWav(bytes) },
      {
        name: `${name} behind zeros in samples of 16 bits`,
        bytes: fastWav(Buffer.concat([Buffer.alloc(64), bytes])),
      },
      {
        name: `${name} behind a tag in samples of 16 bits`,
        bytes: fastWav(Buffer.concat([tagOf(Buffer.alloc(0)), bytes])),
      },
      { name: `${name} in the head of WebM`, bytes: webmBehind(bytes) },
    ]),
    {
      name: 'FLAC with MP3 in a block, behind a tag',
      bytes: Buffer.concat([tagOf(Buffer.alloc(0)), withBlock(long.flac, times(20, mp3))]),
    },
    { name: 'a dictation', bytes: dictation() },
    { name: 'AAC of which a sample has many frames', bytes: inOneSample(long.m4a) },
    { name: 'AAC of several edits', bytes: withEdits(long.m4a, 50) },
    ...hiddenClusters(long.webm).map((bytes, at) => ({ name: `clusters in an element (${at})`, bytes })),
    ...vorbisPositions(),
  ]
}

/** A tag of ID3v2 with this content. */
function tagOf(content: Buffer): Buffer {
  const size = [21, 14, 7, 0].map((shift) => (content.length >> shift) & 127)
  return Buffer.concat([Buffer.from('ID3\x04\0\0', 'latin1'), Buffer.from(size), content])
}

/** A file in the frames of MP3 of 320 kbit/s, behind each of their heads. */
function inFrames(bytes: Buffer): Buffer {
  const FRAME = 1044
  const frames = Array.from({ length: Math.max(10, Math.ceil(bytes.length / (FRAME - 4))) }, (_, at) => {
    const frame = Buffer.alloc(FRAME)
    frame.writeUInt32BE(0xfffbe064)
    frame.set(bytes.subarray(at * (FRAME - 4), (at + 1) * (FRAME - 4)), 4)
    return frame
  })
  return Buffer.concat(frames)
}

/** As many samples a second as WAV files have that cost least. */
const fastWav = (data: Buffer): Buffer => wavOf(data, 192_000, 2)

/** ACT: the head of a WAV file at 8 kHz, and packets of 10 bytes for 10 ms. */
function dictation(): Buffer {
  const file = fastWav(Buffer.alloc(60_000))
  file.writeUInt16LE(8, 22)
  file.writeUInt32LE(8000, 24)
  file[256] = 0x84
  return file
}

/** A short WebM file in whose head there is another one. */
function webmBehind(bytes: Buffer): Buffer {
  const webm = recording('opus.webm')
  const headEnds = 5 + (webm[4]! & 0x7f)
  const size = Buffer.alloc(8)
  size.writeUInt32BE(0x01000000)
  size.writeUInt32BE(bytes.length, 4)
  const head = Buffer.concat([Buffer.from([0xec]), size, bytes])
  const whole = Buffer.alloc(8)
  whole.writeUInt32BE(0x01000000)
  whole.writeUInt32BE(head.length, 4)
  return Buffer.concat([webm.subarray(0, 4), whole, head, webm.subarray(headEnds)])
}

/** A FLAC file with a block of an application behind its first. */
function withBlock(flac: Buffer, content: Buffer): Buffer {
  const head = Buffer.alloc(4)
  head.writeUInt32BE(content.length)
  head[0] = 2
  return Buffer.concat([flac.subarray(0, 42), head, content, flac.subarray(42)])
}

/** An M4A file whose samples are one, which decoders take apart again. */
function inOneSample(m4a: Buffer): Buffer {
  const file = Buffer.from(m4a)
  const sizes = file.indexOf('stsz') + 8
  const count = file.readUInt32BE(sizes + 4)
  const bytes = Array.from({ length: count }, (_, at) => file.readUInt32BE(sizes + 8 + 4 * at)).reduce(
    (a, b) => a + b,
    0,
  )
  file.writeUInt32BE(bytes, sizes)
  file.writeUInt32BE(1, sizes + 4)
  for (const type of ['stts', 'stsc']) {
    const table = file.indexOf(type) + 8
    file.writeUInt32BE(1, table)
    file.writeUInt32BE(1, type === 'stts' ? table + 4 : table + 8)
  }
  file.write('free', file.indexOf('edts'))
  return file
}

/** An M4A file that plays all of itself so many times; its boxes are moved behind its samples, which stay in place. */
function withEdits(m4a: Buffer, edits: number): Buffer {
  const moovAt = m4a.indexOf('moov') - 4
  const moov = Buffer.from(m4a.subarray(moovAt, moovAt + m4a.readUInt32BE(moovAt)))
  const edts = moov.indexOf('edts') - 4
  const one = moov.subarray(edts + 24, edts + 36)
  const list = Buffer.alloc(24)
  list.writeUInt32BE(24 + 12 * edits)
  list.write('edts', 4)
  list.writeUInt32BE(16 + 12 * edits, 8)
  list.write('elst', 12)
  list.writeUInt32BE(edits, 20)
  const more = 24 + 12 * edits - moov.readUInt32BE(edts)
  const changed = Buffer.concat([
    moov.subarray(0, edts),
    list,
    times(edits, one),
    moov.subarray(edts + moov.readUInt32BE(edts)),
  ])
  changed.writeUInt32BE(changed.length)
  const track = changed.indexOf('trak') - 4
  changed.writeUInt32BE(changed.readUInt32BE(track) + more, track)
  const before = Buffer.from(m4a)
  before.write('free', moovAt + 4)
  return Buffer.concat([before, changed])
}

/** Vorbis whose pages and blocks state other times than its packets have. */
function vorbisPositions(): Made[] {
  const made: Made[] = []
  for (const position of [0n, 1n, -1n, 40_000n]) {
    const bytes = atPosition(recording('vorbis.ogg'), position)
    made.push({ name: `Vorbis at ${position}`, bytes, isHonest: true })
  }
  const webm = recording('vorbis.webm')
  const scale = webm.indexOf(Buffer.from('2ad7b1', 'hex'))
  webm.fill(0, scale + 4, scale + 6)
  made.push({ name: 'Vorbis in WebM of short ticks', bytes: webm, isHonest: true })
  return made
}
