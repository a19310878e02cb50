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

/** A timer that ends a pause only when the test says so. */
function heldTimer() {
  const set: { end: () => void; ms: number }[] = []
  return { set, timer: (end: () => void, ms: number) => set.push({ end, ms }) }
}

function unexpectedTimer(): never {
  throw new Error('a pause that nobody expected')
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

  it('sends what gathers during a statement with one item as soon as that returns, without a timer', async () => {
    const held = heldRun()
    const one = batched(held.run, () => false, unexpectedTimer)
    const first = one(1)
    await nextTurn()
    const second = one(2)
    held.release()
    expect(await Promise.all([first, second])).to.deep.equal([10, 20])
    expect(held.batches).to.deep.equal([[1], [2]])
  })

  it('pauses after a shared statement for at most 5 ms, and sends what gathers meanwhile together', async () => {
    const held = heldRun()
    const timers = heldTimer()
    const one = batched(held.run, () => false, timers.timer)
    held.release()
    await Promise.all([one(1), one(2)])
    const answers = [one(3)]
    await nextTurn()
    answers.push(one(4))
    await nextTurn()
    expect(held.batches).to.deep.equal([[1, 2]])
    expect(timers.set).to.have.lengthOf(1)
    expect(timers.set[0]!.ms).to.be.within(0, 5)
    timers.set[0]!.end()
    await Promise.all(answers)
    expect(held.batches).to.deep.equal([
      [1, 2],
      [3, 4],
    ])
  })

  it('ends the pause as soon as sixteen items wait', async () => {
    const held = heldRun()
    const timers = heldTimer()
    const one = batched(held.run, () => false, timers.timer)
    held.release()
    await Promise.all([one(1), one(2)])
    const answers = Array.from({ length: 15 }, (_, at) => one(at))
    await nextTurn()
    expect(held.batches).to.have.lengthOf(1)
    answers.push(one(15))
    await Promise.all(answers)
    expect(held.batches[1]).to.have.lengthOf(16)
  })

  it('makes no pause after a shared statement during which sixteen items have gathered', async () => {
    const held = heldRun()
    const timers = heldTimer()
    const one = batched(held.run, () => false, timers.timer)
    const first = [one(1), one(2)]
    await nextTurn()
    const second = Array.from({ length: 16 }, (_, at) => one(at))
    held.release()
    await Promise.all([...first, ...second])
    expect(held.batches.map((batch) => batch.length)).to.deep.equal([2, 16])
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
