import { expect } from 'chai'
import { cpuRatio } from '../../support/pace.ts'
import { NoSound } from '../../../src/shared/media-files/reader.ts'
import { outcome } from './fixtures.ts'
import { WORST, box, emptyTracks, oggStream, openParents, times, webmOf } from './worst-cases.ts'

/** Elements of the smallest file: enough that a file takes some ms. */
const ELEMENTS = 20_000

describe('the work of measuring a file', () => {
  for (const [name, fileOf] of Object.entries(WORST))
    it(`grows with its bytes and not faster: ${name}`, () => {
      const [one, eight] = [1, 8].map((factor) => fileOf(factor * ELEMENTS)) as [Buffer, Buffer]
      // Eight times as much work where it is linear, 64 times where it is quadratic.
      expect(
        cpuRatio(
          () => outcome(eight),
          () => outcome(one),
        ),
      ).to.be.below(24)
    })

  const REFUSED: [what: string, file: () => Buffer, message: RegExp][] = [
    ['30,000 open parents and 10,000 elements in them', () => openParents(30_000, 10_000), /too deep/],
    ['130,000 open parents', () => openParents(130_000, 0), /too deep/],
    ['100,000 empty tracks and 20,000 blocks of another', () => emptyTracks(100_000, 20_000), /too many tracks/],
    ['200,000 empty tracks', () => emptyTracks(200_000, 43_600), /too many tracks/],
    ['1.9 million empty tracks', () => emptyTracks(1_900_000, 0), /too many tracks/],
    [
      '65 tracks of MP4',
      () => Buffer.concat([box('ftyp', Buffer.from('M4A ')), times(65, box('trak'))]),
      /too many tracks/,
    ],
    ['boxes in nine others', () => Buffer.concat([box('ftyp', Buffer.from('M4A ')), nested(10)]), /too deep/],
    [
      '65 streams of Ogg',
      () => Buffer.concat(Array.from({ length: 65 }, (_, at) => oggStream(at))),
      /too many streams/,
    ],
    ['one track with 100,000 numbers', () => webmOf(track(numbers())), /too many tracks/],
    ['tags in front without end', () => times(500_000, Buffer.from('ID3\x04\0\0\0\0\0\0', 'latin1')), /too many tags/],
  ]
  for (const [what, file, message] of REFUSED)
    it(`is next to none for ${what}, which is refused`, () => {
      const bytes = file()
      const result = outcome(bytes)
      expect(result).to.be.instanceOf(NoSound).and.have.property('message').that.matches(message)
      expect(
        cpuRatio(
          () => outcome(bytes),
          () => outcome(WORST['WebM of empty elements']!(ELEMENTS)),
        ),
      ).to.be.below(1)
    })

  const nested = (depth: number): Buffer => (depth === 0 ? Buffer.alloc(0) : box('moov', nested(depth - 1)))

  const track = (content: Buffer): Buffer => Buffer.concat([Buffer.from('ae01ffffffffffffff', 'hex'), content])

  /** Numbers of a track, each another. */
  const numbers = (): Buffer =>
    Buffer.concat(Array.from({ length: 100_000 }, (_, at) => Buffer.from([0xd7, 0x83, at >> 16, at >> 8, at])))
})
