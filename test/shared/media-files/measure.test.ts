import { expect } from 'chai'
import fc from 'fast-check'
import { crc8 } from '../../../src/shared/media-files/flac.ts'
import { measureSound } from '../../../src/shared/media-files/measure.ts'
import { NoSound } from '../../../src/shared/media-files/reader.ts'
import { LENGTH, RECORDINGS, atPosition, measured, oggPage, outcome, recording, silence, sourceOf } from './fixtures.ts'
import { hiddenClusters, times } from './worst-cases.ts'

describe('the length of a file of sound', () => {
  for (const [file, kind] of RECORDINGS) {
    it(`is what a decoder makes of ${file}`, () => {
      const sound = measured(recording(file))
      expect(sound.kind).to.equal(kind)
      expect(sound.seconds).to.be.within(LENGTH - 0.05, LENGTH + 0.25)
    })

    it(`is neither nothing nor ten times as much where numbers in the head of ${file} are forged`, () => {
      const whole = recording(file)
      const places = Math.min(400, whole.length)
      for (let place = 12; place < places; place += 2) {
        const forged = Buffer.from(whole)
        forged.fill(0, place, place + 4)
        const none = outcome(forged)
        if (none instanceof NoSound) continue
        // One head that says nothing of how the samples are made leaves them as they are.
        expect((none as { seconds: number }).seconds, `${file} at ${place}`).to.be.above(0)
      }
    })

    it(`is less where ${file} is cut off, and never an error of another kind`, () => {
      const whole = recording(file)
      for (let bytes = 0; bytes < whole.length; bytes += 997) {
        const sound = outcome(whole.subarray(0, bytes))
        if (sound instanceof NoSound) continue
        expect((sound as { seconds: number }).seconds, `${bytes} bytes`).to.be.within(0.001, LENGTH + 0.3)
      }
    })
  }

  it('of WAV is that of its bytes where the head states none, or too many', () => {
    for (const stated of [0, 0xffffffff]) {
      const file = silence(5)
      file.writeUInt32LE(stated, 40)
      expect(measured(file).seconds).to.equal(5)
    }
  })

  it('of FLAC, WebM and MP3 does not change with the length that their heads state', () => {
    const flac = recording('s.flac')
    const before = measured(flac).seconds
    flac.fill(0, 22, 26)
    expect(measured(flac).seconds).to.equal(before)
    const mp3 = recording('s.mp3')
    const count = mp3.indexOf('Info') < 0 ? mp3.indexOf('Xing') : mp3.indexOf('Info')
    mp3.writeUInt32BE(1, count + 8)
    expect(measured(mp3).seconds).to.be.above(LENGTH - 0.1)
    const webm = recording('opus.webm')
    const stated = webm.indexOf(Buffer.from([0x44, 0x89, 0x88]))
    expect(stated).to.be.above(0)
    webm.writeDoubleBE(1, stated + 3)
    expect(measured(webm).seconds).to.be.above(LENGTH - 0.1)
  })

  it('of Ogg does not become nothing with the positions of its pages', () => {
    for (const file of ['opus.ogg', 'vorbis.ogg']) {
      expect(measured(atPosition(recording(file), 0n)).seconds, file).to.be.above(LENGTH - 0.1)
    }
  })

  it('of Ogg is refused where decoders skip a page and find others inside it', () => {
    const hidden = recording('opus.ogg')
    const around = oggPage(hidden.readUInt32LE(14), 0, Buffer.alloc(Math.floor(hidden.length / 255) + 1, 255), hidden)
    const pages = Buffer.concat([hidden, around, Buffer.alloc(255)])
    const at = hidden.length
    const forged: [what: string, forge: (file: Buffer) => Buffer][] = [
      ['a wrong checksum', (file) => file.fill(file[at + 22]! ^ 1, at + 22, at + 23)],
      ['another version', (file) => file.fill(1, at + 4, at + 5)],
      ['an end before its own', (file) => file.subarray(0, at + around.length)],
    ]
    for (const [what, forge] of forged)
      expect(outcome(forge(Buffer.from(pages))), what)
        .to.be.instanceOf(NoSound)
        .with.property('message', 'has a damaged page')
  })

  it('of Ogg includes the packets behind those that their next page does not continue', () => {
    const head = recording('opus.ogg')
    const serial = head.readUInt32LE(14)
    const audio = head.indexOf('OggS', head.indexOf('OpusTags'))
    // Three frames of 40 ms; then the beginning of a packet without frames.
    const packets = Buffer.concat([Buffer.from([0x13, 3, 0, 0, 0]), Buffer.from([0x13, 0]), Buffer.alloc(253)])
    const page = oggPage(serial, 0, Buffer.from([5, 255]), packets)
    const file = Buffer.concat([head.subarray(0, audio), times(100, page)])
    expect(measured(file).seconds).to.be.within(11.9, 12.1)
  })

  it('of M4A does not become less with the times that its tables state', () => {
    for (const file of ['aac.m4a', 'alac.m4a']) {
      const m4a = recording(file)
      const table = m4a.indexOf('stts')
      m4a.writeUInt32BE(1, table + 16)
      m4a.writeUInt32BE(0xffffff, m4a.indexOf('mdhd') + 16)
      expect(measured(m4a).seconds, file).to.be.above(LENGTH - 0.1)
    }
  })

  it('of MP3 counts every frame, whatever stands between them', () => {
    const mp3 = recording('s.mp3')
    const before = measured(mp3).seconds
    const cover = Buffer.concat([
      Buffer.from('ID3\x04\x00\x00\x00\x00\x07\x68', 'latin1'),
      Buffer.alloc(1000, 0xff),
      mp3,
    ])
    expect(measured(cover).seconds).to.be.closeTo(before, 0.1)
  })

  it('is refused behind a tag for all but MP3, in which it begins right there', () => {
    const tag = Buffer.from('ID3\x04\0\0\0\0\0\x05tag..', 'latin1')
    const mp3 = recording('s.mp3')
    const frames = mp3.subarray(measured(mp3).from)
    for (const [file, kind] of RECORDINGS)
      if (kind !== 'mp3') expect(outcome(Buffer.concat([tag, recording(file)])), file).to.be.instanceOf(NoSound)
    const flac = recording('s.flac')
    const block = Buffer.from([2, frames.length >> 16, frames.length >> 8, frames.length])
    const hidden = Buffer.concat([flac.subarray(0, 42), block, frames, flac.subarray(42)])
    for (const file of [hidden, Buffer.concat([Buffer.from('x'), frames])])
      expect(outcome(Buffer.concat([tag, file]))).to.be.instanceOf(NoSound)
    expect(measured(Buffer.concat([tag, tag, frames]))).to.include({ kind: 'mp3', from: 2 * tag.length })
    const ape = Buffer.alloc(42)
    ape.write('APETAGEX')
    ape.writeUInt32LE(10, 12)
    expect(measured(Buffer.concat([ape, frames]))).to.include({ kind: 'mp3', from: ape.length })
    expect(outcome(Buffer.concat([frames.subarray(0, 500), Buffer.alloc(500), frames]))).to.be.instanceOf(NoSound)
  })

  it('of Vorbis is that of the blocks which its modes state, with short and long ones', () => {
    for (const file of ['vorbis.ogg', 'vorbis.webm'])
      expect(measured(recording(file)).seconds, file).to.be.within(LENGTH - 0.01, LENGTH + 0.1)
    // It has blocks of 256 and of 2048 samples.
    const both = atPosition(recording('vorbis-blocks.ogg'), 0n)
    expect(measured(both).seconds).to.be.within(LENGTH - 0.1, LENGTH + 0.1)
    const again = recording('vorbis.webm')
    const header = Buffer.from([0x1f, 0x43, 0xb6, 0x75, 0xff, 0xa3, 0x80 | 34, 0x81, 0, 0, 0x80])
    const first = again.indexOf('\x01vorbis', 0, 'latin1')
    const twice = Buffer.concat([again, header, again.subarray(first, first + 30)])
    expect(outcome(twice))
      .to.be.instanceOf(NoSound)
      .and.have.property('message')
      .that.matches(/begins twice/)
  })

  it('of WAV is that of its slowest format, of a byte a sample of µ-law, and of no chunk too many', () => {
    const wav = silence(5)
    const faster = Buffer.alloc(24)
    wav.copy(faster, 0, 12, 36)
    faster.writeUInt32LE(192_000, 12)
    expect(measured(Buffer.concat([wav, faster])).seconds).to.equal(5)
    const law = Buffer.from(wav)
    law.writeUInt16LE(7, 20)
    law.writeUInt16LE(64, 34)
    expect(measured(law).seconds).to.equal(10)
    const data = wav.indexOf('data')
    const first = Buffer.from('data\x02\0\0\0\0\0', 'latin1')
    const chunks = Buffer.from('JUNK\0\0\0\0'.repeat(10_001), 'latin1')
    const hidden = Buffer.concat([wav.subarray(0, data), first, chunks, wav.subarray(data)])
    expect(outcome(hidden)).to.be.instanceOf(NoSound)
  })

  it('of FLAC is that of the rate of each frame, where it is less than that of the file', () => {
    const head = Buffer.alloc(42)
    head.write('fLaC')
    head[4] = 0x80
    head[7] = 34
    head.writeUInt16BE(4096, 8)
    head.writeUInt16BE(4096, 10)
    head.writeUInt32BE(((655_350 << 12) | (15 << 4)) >>> 0, 18)
    const begin = Buffer.from([0xff, 0xf8, 0xc4, 0x08, 0])
    const frame = Buffer.concat([begin, Buffer.from([crc8(begin), 0, 0, 0, 0, 0])])
    const file = Buffer.concat([head, ...Array.from({ length: 200 }, () => frame)])
    expect(measured(file).seconds).to.be.closeTo((200 * 4096) / 8000, 0.01)
  })

  it('of MP3 is that of all its frames, where others begin it and bytes stand between them', () => {
    const mp3 = recording('s.mp3')
    // MPEG 2.5, layer III, 8 kbit/s at 8 kHz: 72 ms in 72 bytes.
    const slow = Buffer.concat([Buffer.from([0xff, 0xe3, 0x18, 0]), Buffer.alloc(69)])
    const file = Buffer.concat([mp3.subarray(0, 1200), ...Array.from({ length: 500 }, () => slow)])
    expect(measured(file).seconds).to.be.within(36, 37)
  })

  it('of Ogg has streams that do not say that they begin', () => {
    const one = recording('opus.ogg')
    const other = Buffer.from(one)
    for (let place = 0; place >= 0; place = other.indexOf('OggS', place + 4)) other.writeUInt32LE(777, place + 14)
    other[5] = 0
    const { seconds } = measured(one)
    expect(measured(Buffer.concat([one, atPosition(other, 0n)])).seconds).to.be.closeTo(2 * seconds, 0.01)
  })

  it('of M4A is that of its fragments too, and of AAC as its own description states it', () => {
    const m4a = recording('aac.m4a')
    const before = measured(m4a).seconds
    const run = Buffer.alloc(32)
    for (const [place, type] of ['moof', 'traf', 'trun'].entries()) {
      run.writeUInt32BE(32 - 8 * place, 8 * place)
      run.write(type, 8 * place + 4)
    }
    run.writeUInt32BE(1000, 28)
    expect(measured(Buffer.concat([m4a, run])).seconds).to.be.above(before + 20)
    // A five in its number, behind which the rate of 96 kHz would be read.
    const forged = Buffer.from(m4a)
    forged.set([5, 1], forged.indexOf('esds') + 13)
    expect(measured(forged).seconds).to.be.closeTo(before, 0.01)
    const ofMp3 = Buffer.from(m4a)
    const decoder = ofMp3.indexOf(Buffer.from([0x40, 0x15]), ofMp3.indexOf('esds'))
    ofMp3[decoder] = 0x6b
    expect(outcome(ofMp3)).to.be.instanceOf(NoSound)
  })

  it('of WebM goes on behind what is broken or too long, and has each packet of a lace', () => {
    const webm = recording('opus.webm')
    const { seconds } = measured(webm)
    const cluster = webm.indexOf(Buffer.from([0x1f, 0x43, 0xb6, 0x75]))
    const tooLong = [0xec, 0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe]
    for (const broken of [[0, 0], tooLong, [0x1f, 0x43, 0xb6, 0x75, 0x82, 0xec, 0x50, 0x00]]) {
      const file = Buffer.concat([webm.subarray(0, cluster), Buffer.from(broken), webm.subarray(cluster)])
      expect(measured(file).seconds, String(broken)).to.be.closeTo(seconds, 0.01)
    }
    // Three packets of 120 ms, in each of the laces.
    const packets = [0x1b, 2, 0x1b, 2, 0x1b, 2]
    for (const [flags, lengths] of [
      [0x02, [2, 2]],
      [0x04, []],
      [0x06, [0x82, 0xbf]],
    ] as const) {
      const block = Buffer.from([0x81, 0, 0, flags, 2, ...lengths, ...packets])
      const file = Buffer.concat([webm, Buffer.from([0x1f, 0x43, 0xb6, 0x75, 0xff, 0xa3, 0x80 | block.length]), block])
      expect(measured(file).seconds, `flags ${flags}`).to.be.closeTo(seconds + 0.36, 0.001)
    }
    const packed = Buffer.from(webm)
    const settings = packed.indexOf(Buffer.from([0x63, 0xa2]))
    packed.set([0x6d, 0x80], settings)
    expect(outcome(packed)).to.be.instanceOf(NoSound)
  })

  it('of WebM is refused where decoders search an element and find clusters inside it', () => {
    for (const file of hiddenClusters(recording('opus.webm')))
      expect(outcome(file)).to.be.instanceOf(NoSound).with.property('message', 'has clusters inside other elements')
  })

  it('is found in as many reads as a file has pieces, however many frames could begin in it', () => {
    const bytes = 4_000_000
    const files = [
      Buffer.concat([recording('s.flac').subarray(0, 8000), Buffer.alloc(bytes, 0xff)]),
      Buffer.concat([recording('s.mp3'), Buffer.alloc(bytes, 0xff)]),
      Buffer.concat([recording('opus.ogg'), Buffer.alloc(bytes, 'O')]),
    ]
    for (const file of files) {
      let read = 0
      const source = sourceOf(file)
      const counted = (from: number, length: number): Buffer => {
        read += Math.min(length, file.length - from)
        return source.read(from, length)
      }
      try {
        measureSound({ ...source, read: counted })
      } catch (error) {
        expect(error).to.be.instanceOf(NoSound)
      }
      expect(read).to.be.below(2 * file.length)
    }
  })

  it('is refused for what is no sound of these kinds', () => {
    const others = [
      Buffer.alloc(0),
      Buffer.from('x'),
      Buffer.from('GIF89a'),
      Buffer.from('%PDF-1.7'),
      Buffer.alloc(5000, 0xff),
    ]
    for (const bytes of others) {
      expect(outcome(bytes)).to.be.instanceOf(NoSound)
    }
  })

  it('is found or refused for 1,500 files of chance, quickly', () => {
    const heads = RECORDINGS.map(([file]) => recording(file))
    const changed = fc
      .tuple(
        fc.constantFrom(...heads),
        fc.array(fc.tuple(fc.nat(8000), fc.uint8Array({ minLength: 1, maxLength: 16 })), { maxLength: 8 }),
      )
      .map(([head, changes]) => {
        const bytes = Buffer.from(head.subarray(0, 8192))
        for (const [place, piece] of changes) Buffer.from(piece).copy(bytes, place % bytes.length)
        return bytes
      })
    const any = fc
      .tuple(fc.constantFrom(...heads), fc.uint8Array({ maxLength: 400 }))
      .map(([head, rest]) => Buffer.concat([head.subarray(0, 16), rest]))
    fc.assert(
      fc.property(fc.oneof(changed, any), (bytes) => {
        const sound = outcome(bytes)
        if (sound instanceof NoSound) return
        expect(sound.seconds).to.be.above(0)
      }),
      { numRuns: 1500 },
    )
  }).timeout(120_000)
})
