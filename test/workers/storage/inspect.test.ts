import { expect } from 'chai'
import type { MediaExtension } from '../../../src/shared/media/media.ts'
import { kindOf } from '../../../src/shared/media/media.ts'
import { inspect } from '../../../src/workers/storage/inspect.ts'
import { MediaRefused } from '../../../src/workers/storage/refused.ts'
import { bytesOf, failureOf, fixture, inChunks } from './media-files.ts'
import { read, refusal, refused } from './inspecting.ts'

const FILES =
  'rgb.png palette.png gray-alpha-16.png adam7.png animated.png baseline.jpg progressive.jpg ' +
  'restarts.jpg still.gif animated.gif lossy.webp lossless.webp animated.webp plain.mp4 faststart.mp4 ' +
  'fragmented.mp4 quicktime.mov plain.webm live.webm'

/** Files and their types, by their names. */
const GOOD = FILES.split(' ').map((name) => [name, name.split('.')[1] as MediaExtension] as const)

describe('inspect', () => {
  for (const [name, extension] of GOOD) {
    it(`knows ${name} by its bytes and passes them on unchanged, whatever the chunks`, async () => {
      for (const chunk of [1, 7, 65_536]) {
        const seen = await read(fixture(name), kindOf(extension), chunk)
        expect(seen.extension).to.equal(extension)
        expect(seen.bytes.equals(fixture(name))).to.equal(true)
      }
    })
  }

  // A live recording has no announced end, and a fragmented one is complete after every fragment.
  const COMPLETE_WHEN_CUT: Record<string, number> = { 'live.webm': 8, 'fragmented.mp4': 3 }

  for (const [name, extension] of GOOD) {
    it(`refuses ${name} cut short anywhere`, async () => {
      const whole = fixture(name)
      const taken: number[] = []
      for (let end = 0; end < whole.length; end += 1) {
        if (!(await refused(whole.subarray(0, end), kindOf(extension)))) taken.push(end)
      }
      expect(taken.length, `taken when cut at ${taken.join(', ')}`).to.be.at.most(COMPLETE_WHEN_CUT[name] ?? 0)
    })
  }

  it('refuses every damaged byte of a PNG', async () => {
    const whole = fixture('rgb.png')
    for (let at = 0; at < whole.length; at += 1) {
      const damaged = Buffer.from(whole)
      damaged[at]! ^= 0x10
      expect(await refused(damaged, 'image'), `byte ${at}`).to.equal(true)
    }
  })

  it('judges the bytes by their content, not by their name', async () => {
    for (const text of [
      '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
      '<?xml version="1.0"?><svg/>',
      '<!doctype html><title>x</title>',
      ...'<script> {"error":"no"} GIF RIFF1234WAVE %PDF-1.7 BM'.split(' '),
      'PK\x03\x04',
      ' ',
    ]) {
      expect((await refusal(Buffer.from(text.padEnd(2000)), 'image')).reason, text).to.equal('unsupported_type')
      expect((await refusal(Buffer.from(text.padEnd(2000)), 'video')).reason, text).to.equal('unsupported_type')
    }
  })

  it('refuses what is neither an image nor a video, or of the other kind', async () => {
    for (const name of ['still.avif', 'sound.m4a', 'other.mkv']) {
      expect((await refusal(fixture(name), 'image')).reason, name).to.equal('unsupported_type')
      expect((await refusal(fixture(name), 'video')).reason, name).to.equal('unsupported_type')
    }
    expect((await refusal(fixture('plain.mp4'), 'image')).message).to.match(/no PNG, JPEG, WebP or GIF image/)
    expect((await refusal(fixture('rgb.png'), 'video')).message).to.match(/no MP4, WebM or QuickTime video/)
  })

  it('refuses a video without a video track', async () => {
    for (const name of ['sound.mp4', 'sound.webm']) {
      expect((await refusal(fixture(name), 'video')).message, name).to.match(/no video track/)
    }
  })

  it('refuses an empty stream', async () => {
    expect((await refusal(Buffer.alloc(0), 'image')).reason).to.equal('damaged')
  })

  it('refuses more bytes than allowed, as soon as there are more', async () => {
    const error = (await failureOf(read(fixture('rgb.png'), 'image', 10, 400))) as MediaRefused
    expect(error.reason).to.equal('too_large')
    expect((await read(fixture('rgb.png'), 'image', 10, fixture('rgb.png').length)).extension).to.equal('png')
  })

  it('closes its source whether it accepts the bytes, refuses them or is abandoned', async () => {
    for (const [bytes, readAll] of [
      [fixture('rgb.png'), true],
      [Buffer.alloc(3000), true],
      [Buffer.concat([fixture('rgb.png'), Buffer.alloc(9000)]), false],
    ] as const) {
      let closed = false
      const source = async function* () {
        try {
          yield* inChunks(bytes, 100)
        } finally {
          closed = true
        }
      }
      try {
        const { body } = await inspect(source(), { kind: 'image', maxBytes: 1e6 })
        if (readAll) await bytesOf(body)
        else {
          await body.next()
          await body.return()
        }
      } catch (error) {
        expect(error).to.be.instanceOf(MediaRefused)
      }
      expect(closed).to.equal(true)
    }
  })

  it('passes on an error of its source', async () => {
    const broke = new Error('the wire broke')
    const source = async function* () {
      yield fixture('rgb.png').subarray(0, 300)
      throw broke
    }
    const { body } = await inspect(source(), { kind: 'image', maxBytes: 1e6 }).catch((error: unknown) => ({
      body: error,
    }))
    expect(body).to.equal(broke)
  })

  it('survives any bytes after a correct beginning', async () => {
    let state = 12_345
    const random = () => (state = (state * 1_103_515_245 + 12_345) % 2_147_483_648)
    for (const [name, extension] of GOOD) {
      for (let round = 0; round < 40; round += 1) {
        const bytes = Buffer.from(fixture(name))
        for (let hits = 0; hits < 12; hits += 1) bytes[12 + (random() % (bytes.length - 12))] = random() % 256
        await refused(bytes, kindOf(extension))
      }
    }
  })
})
