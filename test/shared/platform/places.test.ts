import { expect } from 'chai'
import type { AccountId } from '../../../src/shared/platform/ids.ts'
import { Places, shareOf } from '../../../src/shared/platform/places.ts'

const [a, b, c] = ['a', 'b', 'c'] as AccountId[] as [AccountId, AccountId, AccountId]

describe('places', () => {
  it('are shared out: an account may have its share of them, rounded down, and always one', () => {
    expect([100, 5, 2, 1].map((total) => shareOf(total, 0.5))).to.deep.equal([50, 2, 1, 1])
    expect([100, 1].map((total) => shareOf(total, 1))).to.deep.equal([100, 1])
    expect(shareOf(Infinity, 0.5)).to.equal(Infinity)
  })

  it('are not given beyond the share although they are free, nor where none is free', () => {
    const places = new Places(0.5)
    expect([places.take(a, 4), places.take(a, 4), places.take(a, 4)]).to.deep.equal([true, true, false])
    expect([places.take(b, 4), places.take(c, 4), places.take(c, 4)]).to.deep.equal([true, true, false])
    places.give(a)
    expect([places.taken, places.take(b, 4), places.take(a, 4)]).to.deep.equal([3, true, false])
  })

  it('go to the account that has the fewest, and of those to who came first', () => {
    const places = new Places(0.5)
    for (const account of [a, a, b, c]) places.take(account, 6)
    const called: string[] = []
    const wait = (account: AccountId, name: string) =>
      places.wait({ account, total: 6, enter: () => called.push(name) })
    wait(a, 'a1')
    wait(b, 'b1')
    wait(c, 'c1')
    wait(b, 'b2')
    for (let next = places.next(); next; next = places.next()) {
      next.enter()
      places.take(next.account, next.total)
    }
    expect(called).to.deep.equal(['b1', 'c1'])
    places.give(b)
    places.next()?.enter()
    expect([called.at(-1), places.waiting]).to.deep.equal(['b2', 1])
  })
})
