import { expect } from 'chai'
import { cachedReading } from '../../../../src/shared/platform/process/cached.ts'

describe('a kept reading', () => {
  /** A reading that takes so long, and a clock that moves only by hand. */
  const setUp = (tookMs: number) => {
    const clock = { now: 0 }
    let readings = 0
    const read = cachedReading(
      { forMs: 10_000 },
      async () => {
        clock.now += tookMs
        return ++readings
      },
      () => clock.now,
    )
    return { clock, read }
  }

  it('is the same for everybody for its time, and then another one', async () => {
    const { clock, read } = setUp(0)
    expect(await Promise.all([read(), read()])).to.deep.equal([1, 1])
    clock.now = 9999
    expect(await read()).to.equal(1)
    clock.now = 10_000
    expect(await read()).to.equal(2)
  })

  it('is kept for twenty times as long as it took, but no more than a minute', async () => {
    const slow = setUp(1000)
    await slow.read()
    slow.clock.now = 20_999
    expect(await slow.read()).to.equal(1)
    slow.clock.now = 21_000
    expect(await slow.read()).to.equal(2)
    const stuck = setUp(15_000)
    await stuck.read()
    stuck.clock.now = 75_000
    expect(await stuck.read()).to.equal(2)
  })

  it('is not kept if it failed', async () => {
    let tries = 0
    const read = cachedReading({ forMs: 10_000 }, async () => {
      tries++
      if (tries === 1) throw new Error('away')
      return tries
    })
    const failed = await read().catch((error: Error) => error.message)
    expect([failed, await read()]).to.deep.equal(['away', 2])
  })
})
