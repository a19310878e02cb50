import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import { batched } from '../../../../src/shared/platform/postgres/batcher.ts'

/** A run that waits until it is released, and the batches that it got. */
function heldRun() {
  const batches: number[][] = []
  let release = (): void => {}
  const gate = new Promise<void>((resolve) => {
    release = resolve
  })
  const run = async (items: number[]): Promise<number[]> => {
    batches.push(items)
    await gate
    return items.map((item) => item * 10)
  }
  return { batches, run, release: () => release() }
}

describe('batched', () => {
  it('sends a single item at once', async () => {
    const batches: number[][] = []
    const one = batched(
      async (items: number[]) => {
        batches.push(items)
        return items
      },
      () => false,
    )
    expect(await one(1)).to.equal(1)
    expect(await one(2)).to.equal(2)
    expect(batches).to.deep.equal([[1], [2]])
  })

  it('combines items of one turn, in order, at most 64 in a statement', async () => {
    const held = heldRun()
    const one = batched(held.run, () => false)
    const answers = Array.from({ length: 100 }, (_, at) => one(at))
    held.release()
    expect(await Promise.all(answers)).to.deep.equal(Array.from({ length: 100 }, (_, at) => at * 10))
    expect(held.batches.map((batch) => batch.length)).to.deep.equal([64, 36])
    expect(held.batches.flat()).to.deep.equal(Array.from({ length: 100 }, (_, at) => at))
  })

  it('combines items that arrive during a statement, and sends no second one meanwhile', async () => {
    const held = heldRun()
    const one = batched(held.run, () => false)
    const answers = [one(1)]
    await nextTurn()
    answers.push(one(2))
    await nextTurn()
    answers.push(one(3))
    expect(held.batches).to.deep.equal([[1]])
    held.release()
    expect(await Promise.all(answers)).to.deep.equal([10, 20, 30])
    expect(held.batches).to.deep.equal([[1], [2, 3]])
  })

  it('sends what has gathered as soon as the statement before it returns, without a timer', async () => {
    const held = heldRun()
    const one = batched(held.run, () => false)
    const first = [one(1), one(2)]
    await nextTurn()
    const second = one(3)
    held.release()
    await Promise.all(first)
    await nextTurn()
    expect(held.batches).to.deep.equal([[1, 2], [3]])
    expect(await second).to.equal(30)
  })

  it('gives the error of an item only to its caller', async () => {
    const one = batched(
      async (items: number[]) => {
        if (items.includes(3)) throw new Error('three is bad')
        return items
      },
      () => false,
    )
    const ends = await Promise.allSettled([0, 1, 2, 3, 4, 5].map((item) => one(item)))
    expect(ends.map((end) => end.status === 'fulfilled')).to.deep.equal([true, true, true, false, true, true])
  })

  it('gives an error of the whole batch to all at once, without retrying each', async () => {
    let runs = 0
    const one = batched(
      async () => {
        runs++
        throw new Error('away')
      },
      (error) => (error as Error).message === 'away',
    )
    const ends = await Promise.allSettled(Array.from({ length: 50 }, (_, at) => one(at)))
    expect(ends.every((end) => end.status === 'rejected')).to.equal(true)
    expect(runs).to.equal(1)
  })
})
