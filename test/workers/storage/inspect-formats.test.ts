import { deflateSync, crc32 } from 'node:zlib'
import { expect } from 'chai'
import { fixture } from './media-files.ts'
import { refusal, refused } from './inspecting.ts'

/** A PNG chunk with a correct checksum. */
function pngChunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const ends = Buffer.alloc(8)
  ends.writeUInt32BE(data.length, 0)
  ends.writeUInt32BE(crc32(body), 4)
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)])
}

/** A grey PNG of a declared size around any image data. */
function pngAround(width: number, height: number, imageData: Buffer): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header[8] = 8
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    pngChunk('IHDR', header),
    pngChunk('IDAT', imageData),
    pngChunk('IEND', Buffer.alloc(0)),
  ])
}

/** An MP4 or QuickTime box. */
function box(type: string, content: Buffer): Buffer {
  const head = Buffer.alloc(8)
  head.writeUInt32BE(8 + content.length, 0)
  head.write(type, 4, 'latin1')
  return Buffer.concat([head, content])
}

describe('inspect, format by format', () => {
  describe('PNG', () => {
    it('must unpack to the size that its header says', async () => {
      const rows = Buffer.alloc(10 * 11)
      expect(await refused(pngAround(10, 10, deflateSync(rows)), 'image')).to.equal(false)
      expect((await refusal(pngAround(10, 10, deflateSync(rows.subarray(1))), 'image')).message).to.match(
        /pixels are missing/,
      )
      expect((await refusal(pngAround(10, 10, deflateSync(Buffer.alloc(111))), 'image')).message).to.match(
        /more pixels/,
      )
      expect((await refusal(pngAround(10, 10, Buffer.from('not packed')), 'image')).message).to.match(/do not unpack/)
    })

    it('must not be a decompression bomb', async () => {
      const bomb = pngAround(1000, 1000, deflateSync(Buffer.alloc(64 * 1024 * 1024)))
      expect((await refusal(bomb, 'image')).message).to.match(/more pixels/)
      expect((await refusal(pngAround(60_000, 60_000, deflateSync(Buffer.alloc(10))), 'image')).reason).to.equal(
        'too_large',
      )
    })

    it('has a size, and a colour type with a depth that exist', async () => {
      expect(await refused(pngAround(0, 10, deflateSync(Buffer.alloc(10))), 'image')).to.equal(true)
      expect(await refused(pngAround(10, 0, deflateSync(Buffer.alloc(10))), 'image')).to.equal(true)
    })
  })

  describe('JPEG', () => {
    it('is complete at its end marker, whatever follows', async () => {
      expect(await refused(Buffer.concat([fixture('baseline.jpg'), Buffer.alloc(5000, 'x')]), 'image')).to.equal(false)
    })

    it('needs an image, not only markers', async () => {
      for (const hex of [
        'ffd8ffd9',
        'ffd8ffe000104a46494600010100000100010000ffd9',
        'ffd8ff00',
        'ffd8ffd8ffd9',
        'ffd8ffda00020102ffd9',
        'ffd8ffe00001ffd9',
      ]) {
        expect(await refused(Buffer.from(hex, 'hex'), 'image'), hex).to.equal(true)
      }
    })
  })

  describe('GIF', () => {
    it('needs an image with data', async () => {
      expect(await refused(Buffer.from('GIF89a\x01\x00\x01\x00\x00\x00\x00;', 'latin1'), 'image')).to.equal(true)
      expect(
        await refused(
          Buffer.from('GIF89a\x01\x00\x01\x00\x00\x00\x00,\0\0\0\0\x01\0\x01\0\0\x02\0;', 'latin1'),
          'image',
        ),
      ).to.equal(true)
    })
  })

  describe('WebP', () => {
    it('has lengths that add up', async () => {
      const lying = Buffer.from(fixture('lossy.webp'))
      lying.writeUInt32LE(lying.readUInt32LE(4) - 2, 4)
      expect((await refusal(lying, 'image')).message).to.match(/do not add up/)
    })

    it('needs an image that begins correctly', async () => {
      expect(await refused(Buffer.from('RIFF\x04\0\0\0WEBP', 'latin1'), 'image')).to.equal(true)
      const nothing = Buffer.from(fixture('lossless.webp'))
      nothing[20] = 0
      expect((await refusal(nothing, 'image')).message).to.match(/does not begin/)
    })
  })

  describe('MP4', () => {
    const movie = () => {
      const file = fixture('plain.mp4')
      const at = file.indexOf('moov') - 4
      return file.subarray(at, at + file.readUInt32BE(at))
    }
    const type = box('ftyp', Buffer.from('isom\0\0\0\0isom'))
    const data = box('mdat', Buffer.alloc(100))

    it('can have its movie before or after its data, and lengths of 64 bits', async () => {
      const large = Buffer.concat([Buffer.from('\0\0\0\x01mdat\0\0\0\0\0\0\0\x74', 'latin1'), Buffer.alloc(100)])
      for (const parts of [
        [type, movie(), data],
        [type, data, movie()],
        [type, movie(), large],
        [type, box('free', Buffer.alloc(3)), movie(), data],
      ]) {
        expect(await refused(Buffer.concat(parts), 'video')).to.equal(false)
      }
    })

    it('needs a movie and data', async () => {
      for (const parts of [[type], [type, data], [type, movie()], [type, movie(), box('mdat', Buffer.alloc(0))]]) {
        expect(await refused(Buffer.concat(parts), 'video')).to.equal(true)
      }
    })

    it('has boxes that add up', async () => {
      const tooLong = Buffer.from(movie())
      const track = tooLong.indexOf('trak') - 4
      tooLong.writeUInt32BE(tooLong.readUInt32BE(track) + 40_000, track)
      expect((await refusal(Buffer.concat([type, tooLong, data]), 'video')).message).to.match(/do not add up/)
      expect((await refusal(Buffer.concat([type, movie(), data, Buffer.alloc(16)]), 'video')).message).to.match(
        /no name/,
      )
      const deep = Buffer.concat(
        Array.from({ length: 20_000 }, (_, at) => {
          const head = Buffer.from('\0\0\0\0trak', 'latin1')
          head.writeUInt32BE(8 * (20_000 - at), 0)
          return head
        }),
      )
      expect((await refusal(Buffer.concat([type, box('moov', deep), data]), 'video')).message).to.match(
        /no video track/,
      )
      const zero = Buffer.from('\0\0\0\x04free', 'latin1')
      expect((await refusal(Buffer.concat([type, zero, movie(), data]), 'video')).message).to.match(/wrong length/)
    })
  })

  describe('WebM', () => {
    it('can come from a live recorder, whose clusters have no length', async () => {
      const live = fixture('live.webm')
      const cluster = live.indexOf(Buffer.from('1f43b675', 'hex')) + 4
      const width = Math.clz32(live[cluster]!) - 24 + 1
      const unknown = Buffer.alloc(width, 0xff)
      unknown[0] = 0xff >> (width - 1)
      unknown.copy(live, cluster)
      expect(await refused(live, 'video')).to.equal(false)
      expect(await refused(live.subarray(0, -1), 'video')).to.equal(true)
    })

    it('has elements that add up and are known', async () => {
      const whole = fixture('plain.webm')
      const segment = whole.indexOf(Buffer.from('18538067', 'hex')) + 4
      const lying = Buffer.from(whole)
      lying[segment + 7]! -= 1
      expect((await refusal(lying, 'video')).message).to.match(/do not add up/)
      const strange = Buffer.from(whole)
      strange.writeUInt32BE(0x1f43b676, strange.indexOf(Buffer.from('1f43b675', 'hex')))
      expect((await refusal(strange, 'video')).message).to.match(/unknown element/)
    })
  })
})
