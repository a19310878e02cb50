import { expect } from 'chai'
import fc from 'fast-check'
import { ItemScan } from '../../../src/shared/calls/stored-responses.ts'

const texts = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('id', '"', '\\', '\\"', '[{"id":"a"},', '}],:'))
const values = fc.jsonValue({ maxDepth: 4 })

/** Items as a client may send them: with or without an id, which may be anything, and with ids deeper in them. */
const item = fc
  .tuple(
    fc.dictionary(texts, fc.oneof(values, texts, fc.record({ id: texts })), { noNullPrototype: true }),
    fc.option(fc.record({ id: fc.oneof(texts, values) }), { nil: {} }),
    fc.boolean(),
  )
  .map(([fields, id, isFirst]): Record<string, unknown> => (isFirst ? { ...id, ...fields } : { ...fields, ...id }))

function scanned(stored: Buffer, cuts: readonly number[]) {
  const scan = new ItemScan()
  const places = [0, ...cuts.map((cut) => cut % (stored.length + 1)).toSorted((a, b) => a - b), stored.length]
  for (const [at, end] of places.slice(1).entries()) scan.push(stored.subarray(places[at], end))
  return scan.items
}

describe('a scan of stored items', () => {
  it('finds what JSON.parse finds, and their ids, wherever the pieces are cut', () => {
    fc.assert(
      fc.property(fc.array(item), fc.array(fc.nat()), (items, cuts) => {
        const stored = Buffer.from(JSON.stringify(items))
        const places = scanned(stored, cuts)
        const found = places.map(({ start, end }) => String(stored.subarray(start, end)))
        expect(found).to.deep.equal((JSON.parse(String(stored)) as object[]).map((one) => JSON.stringify(one)))
        expect(places.map(({ id }) => id)).to.deep.equal(items.map(({ id }) => (typeof id === 'string' ? id : null)))
      }),
      { numRuns: 500 },
    )
  })

  it('reads ids of 200 characters, however they are written, and none that is much longer', () => {
    const ids = ['\u0001'.repeat(200), '😀'.repeat(200), 'a'.repeat(1200), 'a'.repeat(1201), 'a'.repeat(100_000), 'b']
    const stored = Buffer.from(JSON.stringify(ids.map((id) => ({ id }))))
    expect(scanned(stored, []).map(({ id }) => id)).to.deep.equal([...ids.slice(0, 3), null, null, 'b'])
  })

  it('scans 30 MB in less than a second of CPU', () => {
    const item = { id: 'a', content: [{ image_url: 'é"\\'.repeat(5_000_000) }], text: '\\'.repeat(2_000_000) }
    const stored = Buffer.from(JSON.stringify([item]))
    const before = process.cpuUsage()
    expect(scanned(stored, [])).to.have.length(1)
    const { user, system } = process.cpuUsage(before)
    expect((user + system) / 1000, `ms for ${stored.length} bytes`).to.be.below(1000)
  })
})
