import { expect } from 'chai'
import { PageWriter, itemPage } from '../../../../src/api/v1/responses/item-page.ts'
import { ItemScan } from '../../../../src/shared/calls/stored-responses.ts'

const MEGABYTE = 1_048_576

type Wanted = Parameters<typeof itemPage>[1]
type Page = { data: { id: string }[]; first_id: string | null; last_id: string | null; has_more: boolean }

/** The page as its client gets it, written from pieces of so many bytes. */
function pageOf(items: readonly object[], wanted: Wanted, pieceBytes = 100_000): Page {
  const stored = Buffer.from(JSON.stringify(items))
  const scan = new ItemScan()
  scan.push(stored)
  const writer = new PageWriter(itemPage(scan.items, wanted))
  for (let at = 0; at < stored.length; at += pieceBytes) writer.push(stored.subarray(at, at + pieceBytes))
  return JSON.parse(String(writer.body)) as Page
}

/** An item of so many bytes that a client may have sent. */
const item = (id: string, bytes: number) => ({
  id,
  role: 'user',
  content: [{ type: 'input_text', text: 'x'.repeat(bytes) }],
})

const items = [item('a', 100), item('b', MEGABYTE), item('c', MEGABYTE), item('d', 5 * MEGABYTE), item('e', 100)]

describe('a page of input items', () => {
  it('has 2 MB at most, or one item that is longer, and every item is on one of them as it is stored', () => {
    for (const order of ['asc', 'desc'] as const) {
      const pages: string[][] = []
      let after: string | undefined
      for (let more = true; more;) {
        const page = pageOf(items, { order, after })
        const ids = page.data.map(({ id }) => id)
        expect([page.first_id, page.last_id]).to.deep.equal([ids[0], ids.at(-1)])
        expect(page.data).to.deep.equal(ids.map((id) => items.find((one) => one.id === id)))
        if (ids.length > 1) expect(Buffer.byteLength(JSON.stringify(page.data))).to.be.at.most(2 * MEGABYTE + 2)
        pages.push(ids)
        after = ids.at(-1)
        more = page.has_more
      }
      const expected = order === 'asc' ? [['a', 'b'], ['c'], ['d'], ['e']] : [['e'], ['d'], ['c'], ['b', 'a']]
      expect(pages).to.deep.equal(expected)
    }
  })

  it('is written from pieces of any length', () => {
    const few = ['a', 'é', '漢', '\\"]}'].map((text) => item(text, 20))
    for (let pieceBytes = 1; pieceBytes < 200; pieceBytes++)
      expect(pageOf(few, { limit: 3 }, pieceBytes)).to.deep.equal({
        object: 'list',
        data: few.toReversed().slice(0, 3),
        first_id: '\\"]}',
        last_id: 'é',
        has_more: true,
      })
  })

  it('ends where nothing is behind an item, and begins at the first where there is no such item', () => {
    const none = { data: [], first_id: null, last_id: null, has_more: false }
    expect(pageOf(items, { order: 'asc', after: 'e' })).to.deep.include(none)
    expect(pageOf([], {})).to.deep.include(none)
    expect(pageOf(items, { order: 'asc', after: 'unknown', limit: 1 }).first_id).to.equal('a')
  })
})
