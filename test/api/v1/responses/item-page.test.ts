import { expect } from 'chai'
import { itemPage } from '../../../../src/api/v1/responses/item-page.ts'

const MEGABYTE = 1_048_576

/** An item of so many bytes that a client may have sent. */
const item = (id: string, bytes: number) => ({
  id,
  role: 'user',
  content: [{ type: 'input_text', text: 'x'.repeat(bytes) }],
})

const items = [item('a', 100), item('b', MEGABYTE), item('c', MEGABYTE), item('d', 20 * MEGABYTE), item('e', 100)]

describe('a page of input items', () => {
  it('has 2 MB at most, or one item that is longer, and every item is on one of them', () => {
    for (const order of ['asc', 'desc'] as const) {
      const pages: string[][] = []
      let after: string | undefined
      for (let more = true; more;) {
        const page = itemPage(items, { order, after })
        const ids = page.data.map(({ id }) => String(id))
        expect([page.first_id, page.last_id]).to.deep.equal([ids[0], ids.at(-1)])
        if (ids.length > 1) expect(Buffer.byteLength(JSON.stringify(page.data))).to.be.at.most(2 * MEGABYTE + 100)
        pages.push(ids)
        after = ids.at(-1)
        more = page.has_more
      }
      const expected = order === 'asc' ? [['a', 'b'], ['c'], ['d'], ['e']] : [['e'], ['d'], ['c'], ['b', 'a']]
      expect(pages).to.deep.equal(expected)
    }
  })

  it('counts what its JSON has: control characters are six times as long', () => {
    const controls = Array.from({ length: 4 }, (_, at) => ({ id: String(at), text: '\u0001'.repeat(MEGABYTE / 6) }))
    const { data, has_more: hasMore } = itemPage(controls, {})
    expect([data.length, hasMore]).to.deep.equal([1, true])
  })

  it('counts names of fields too', () => {
    const named = Array.from({ length: 3 }, (_, at) => ({ id: String(at), ['n'.repeat(MEGABYTE)]: 1 }))
    expect(itemPage(named, {}).data).to.have.length(1)
  })

  it('ends where nothing is behind an item, and begins at the first where there is no such item', () => {
    expect(itemPage(items, { order: 'asc', after: 'e' })).to.include({ first_id: null, last_id: null, has_more: false })
    expect(itemPage(items, { order: 'asc', after: 'unknown', limit: 1 }).first_id).to.equal('a')
  })
})
