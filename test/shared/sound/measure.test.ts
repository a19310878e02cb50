import { expect } from 'chai'
import fc from 'fast-check'
import { NoSound } from '../../../src/shared/sound/reader.ts'
import { LENGTH, RECORDINGS, measured, recording, silence } from './fixtures.ts'

describe('the length of a file of sound', () => {
  for (const [file, kind] of RECORDINGS) {
    it(`is what a decoder makes of ${file}`, async () => {
      const sound = await measured(recording(file))
      expect(sound.kind).to.equal(kind)
      expect(sound.seconds).to.be.within(LENGTH - 0.05, LENGTH + 0.25)
    })

    it(`is neither nothing nor ten times as much where numbers in the head of ${file} are forged`, async () => {
      const whole = recording(file)
      const places = Math.min(400, whole.length)
      for (let place = 12; place < places; place++) {
        const forged = Buffer.from(whole)
        forged.fill(0, place, place + 4)
        const none = await measured(forged).catch((error: unknown) => error)
        if (none instanceof NoSound) continue
        // One head that says nothing of how the samples are made leaves them as they are.
        expect((none as { seconds: number }).seconds, `${file} at ${place}`).to.be.above(0)
      }
    })

    it(`is less where ${file} is cut off, and never an error of another kind`, async () => {
      const whole = recording(file)
      for (let bytes = 0; bytes < whole.length; bytes += 997) {
        const sound = await measured(whole.subarray(0, bytes)).catch((error: unknown) => error)
        if (sound instanceof NoSound) continue
        expect((sound as { seconds: number }).seconds, `${bytes} bytes`).to.be.within(0.001, LENGTH + 0.3)
      }
    })
  }

  it('of WAV is that of its bytes where the head states none, or too many', async () => {
    for (const stated of [0, 0xffffffff]) {
      const file = silence(5)
      file.writeUInt32LE(stated, 40)
      expect((await measured(file)).seconds).to.equal(5)
    }
  })

  it('of FLAC, WebM and MP3 does not change with the length that their heads state', async () => {
    const flac = recording('s.flac')
    const before = (await measured(flac)).seconds
    flac.fill(0, 22, 26)
    expect((await measured(flac)).seconds).to.equal(before)
    const mp3 = recording('s.mp3')
    const count = mp3.indexOf('Info') < 0 ? mp3.indexOf('Xing') : mp3.indexOf('Info')
    mp3.writeUInt32BE(1, count + 8)
    expect((await measured(mp3)).seconds).to.be.above(LENGTH - 0.1)
    const webm = recording('opus.webm')
    const stated = webm.indexOf(Buffer.from([0x44, 0x89, 0x88]))
    expect(stated).to.be.above(0)
    webm.writeDoubleBE(1, stated + 3)
    expect((await measured(webm)).seconds).to.be.above(LENGTH - 0.1)
  })

  it('of Ogg does not become nothing with the positions of its pages', async () => {
    for (const file of ['opus.ogg', 'vorbis.ogg']) {
      const ogg = recording(file)
      for (let place = ogg.indexOf('OggS'); place >= 0; place = ogg.indexOf('OggS', place + 4))
        ogg.fill(0, place + 6, place + 14)
      expect((await measured(ogg)).seconds, file).to.be.above(LENGTH / 2 - 0.1)
    }
  })

  it('of M4A does not become less with the times that its tables state', async () => {
    for (const file of ['aac.m4a', 'alac.m4a']) {
      const m4a = recording(file)
      const table = m4a.indexOf('stts')
      m4a.writeUInt32BE(1, table + 16)
      m4a.writeUInt32BE(0xffffff, m4a.indexOf('mdhd') + 16)
      expect((await measured(m4a)).seconds, file).to.be.above(LENGTH - 0.1)
    }
  })

  it('of MP3 counts every frame, whatever stands between them', async () => {
    const mp3 = recording('s.mp3')
    const before = (await measured(mp3)).seconds
    const cover = Buffer.concat([
      Buffer.from('ID3\x04\x00\x00\x00\x00\x07\x68', 'latin1'),
      Buffer.alloc(1000, 0xff),
      mp3,
    ])
    expect((await measured(cover)).seconds).to.be.closeTo(before, 0.1)
  })

  it('is refused for what is no sound of these kinds', async () => {
    const others = [
      Buffer.alloc(0),
      Buffer.from('x'),
      Buffer.from('GIF89a'),
      Buffer.from('%PDF-1.7'),
      Buffer.alloc(5000, 0xff),
    ]
    for (const bytes of others) {
      expect(await measured(bytes).catch((error: unknown) => error)).to.be.instanceOf(NoSound)
    }
  })

  it('is found or refused for 5,000 files of chance, quickly', async () => {
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
    await fc.assert(
      fc.asyncProperty(fc.oneof(changed, any), async (bytes) => {
        const sound = await measured(bytes).catch((error: unknown) => error)
        if (sound instanceof NoSound) return
        expect((sound as { seconds?: number }).seconds, String(sound)).to.be.above(0)
      }),
      { numRuns: 5000 },
    )
  }).timeout(120_000)
})
