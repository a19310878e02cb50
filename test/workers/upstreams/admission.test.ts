import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import { admission, expectedOf } from '../../../src/workers/upstreams/admission.ts'
import { readAnswer } from '../../../src/workers/upstreams/reader.ts'
import { bodyOf } from './answer-bodies.ts'

const { signal } = new AbortController()
const KB = 1024

describe('the room that an answer takes', () => {
  /** What is taken while an answer of so many kilobytes comes, and what is left at its end. */
  function takenOf(kilobytes: number, expectedBytes: number | null): { taken: number[]; end: number | null } {
    const taken: number[] = []
    let end: number | null = null
    const room = {
      take: async (bytes: number) => {
        taken.push(bytes / KB)
      },
      lowerTo: (bytes: number) => {
        end = bytes / KB
      },
    }
    const bound = { maxBytes: 1000 * KB, isChat: false, expectedBytes }
    const admitted = admission(bound, { room, signal })
    for (let size = 16; size <= kilobytes; size += 16) void admitted.admit(size * KB)
    admitted.end()
    return { taken, end }
  }

  it('is what it is expected to have, from 64 kB on, and that of the largest beyond', () => {
    expect(takenOf(64, 500 * KB)).to.deep.equal({ taken: [], end: 64 })
    expect(takenOf(80, 500 * KB)).to.deep.equal({ taken: [500], end: 80 })
    expect(takenOf(800, 500 * KB)).to.deep.equal({ taken: [500, 1000], end: 800 })
    expect(takenOf(800, 5000 * KB)).to.deep.equal({ taken: [1000], end: 800 })
    expect(takenOf(800, null).taken, 'of what is passed on as it comes').to.deep.equal([])
  })

  it('is expected by its stated length, its request, or its kind', () => {
    const asked = { kind: 'embedding', expectedBytes: 7 } as const
    expect(expectedOf(asked, { 'content-length': '99' })).to.equal(99)
    expect(expectedOf(asked, { 'content-length': '99', 'content-encoding': 'gzip' })).to.equal(7)
    expect(expectedOf({ kind: 'embedding' }, {})).to.equal(8 * KB * KB)
    expect(expectedOf({ kind: 'stream' }, { 'content-length': '99' })).to.equal(null)
  })

  it('is waited for before more of it is read, and its answer is then read whole', async () => {
    let read = 0
    let open = (): void => {}
    const pieces = ['{"a":', ...Array.from({ length: 40 }, () => ' '), '"b"}']
    const source = Readable.from(
      (function* () {
        for (const piece of pieces) {
          read++
          yield Buffer.from(piece)
        }
      })(),
      { highWaterMark: 1 },
    )
    const room = new Promise<void>((resolve) => {
      open = resolve
    })
    const said: unknown[] = []
    const body = { ...bodyOf([]), source, admit: (bytes: number) => (bytes === 5 ? room : null) }
    const reading = readAnswer(body, (one) => said.push(one) > 0)
    for (let turn = 0; turn < 20; turn++) await nextTurn()
    expect(read, 'pieces that were read').to.be.below(10)
    open()
    await reading
    const line = pieces.join('')
    expect(said).to.deep.equal([{ is: 'object', line, fields: { a: 'b' }, isWhole: true, event: undefined }])
  })

  it('that is never given ends the reading with what ends its call', async () => {
    const ended = new Error('the deadline')
    const changes = { admit: () => Promise.reject(ended), failure: (error: unknown) => error as never }
    const failure: unknown = await readAnswer(bodyOf(['{"a":', '"b"}'], changes), () => true).catch(
      (error: unknown) => error,
    )
    expect(failure).to.equal(ended)
  })
})
