import { expect } from 'chai'
import type { AccountId } from '../../../src/shared/platform/ids.ts'
import { ByteBudget } from '../../../src/workers/fetching/byte-budget.ts'
import { failureOf } from '../storage/media-files.ts'

const signal = new AbortController().signal

describe('a budget of bytes', () => {
  /** Requests a share, and records its name once it has it. */
  function taking(budget: ByteBudget, taken: string[], name: string, bytes: number, whose = signal, account = 'a') {
    return budget.take(account as AccountId, bytes, whose).then((share) => {
      taken.push(name)
      return share
    })
  }

  /** Runs everything that is ready. */
  const settled = (): Promise<void> =>
    new Promise((resolve) => {
      setImmediate(resolve)
    })

  it('is shared in the order of the requests: small ones do not overtake a large one', async () => {
    const budget = new ByteBudget(10, 10)
    const taken: string[] = []
    const a = await taking(budget, taken, 'a', 8)
    const large = taking(budget, taken, 'large', 5)
    const small = taking(budget, taken, 'small', 1)
    await settled()
    expect(taken).to.deep.equal(['a'])
    a.release()
    await Promise.all([large, small])
    expect(taken).to.deep.equal(['a', 'large', 'small'])
  })

  it('gives no account more than its part, and lets nobody else wait for that', async () => {
    const budget = new ByteBudget(12, 4)
    const taken: string[] = []
    const a = await taking(budget, taken, 'a', 3, signal, 'one')
    const more = taking(budget, taken, 'more of a', 2, signal, 'one')
    const small = taking(budget, taken, 'small of a', 1, signal, 'one')
    await taking(budget, taken, 'b', 4, signal, 'other')
    expect(taken).to.deep.equal(['a', 'b'])
    a.release()
    await Promise.all([more, small])
    expect(taken).to.deep.equal(['a', 'b', 'more of a', 'small of a'])
  })

  it('gets back what a share is reduced by, and counts nothing twice', async () => {
    const budget = new ByteBudget(10, 10)
    const taken: string[] = []
    const a = await taking(budget, taken, 'a', 10)
    a.lowerTo(4)
    a.lowerTo(9)
    const b = await taking(budget, taken, 'b', 6)
    const c = taking(budget, taken, 'c', 5)
    a.release()
    a.release()
    await settled()
    expect(taken).to.deep.equal(['a', 'b'])
    b.release()
    await c
  })

  it('gives nothing to an aborted request, which blocks no other', async () => {
    const budget = new ByteBudget(10, 10)
    const taken: string[] = []
    const call = new AbortController()
    const a = await taking(budget, taken, 'a', 8)
    const aborted = taking(budget, taken, 'aborted', 5, call.signal)
    const small = taking(budget, taken, 'small', 2)
    call.abort(new Error('its call has ended'))
    expect((await failureOf(aborted)).message).to.equal('its call has ended')
    await small
    a.release()
    await taking(budget, taken, 'next', 8)
    expect(taken).to.deep.equal(['a', 'small', 'next'])
    expect((await failureOf(budget.take('a' as AccountId, 1, call.signal))).message).to.equal('its call has ended')
  })
})
