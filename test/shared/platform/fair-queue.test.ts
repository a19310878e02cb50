import { expect } from 'chai'
import { FairQueue } from '../../../src/shared/platform/fair-queue.ts'
import { failureOf } from '../../workers/storage/media-files.ts'

const signal = new AbortController().signal

/** So much in work at once, in all and of one account. */
const queueOf = (total: number, perHolder: number) => new FairQueue({ perHolder }, new FairQueue({ perHolder: total }))

describe('a fair queue', () => {
  /** Requests a share, and records its name once it has it. */
  function taking(queue: FairQueue, taken: string[], name: string, bytes: number, whose = signal, account = 'a') {
    return queue.take(account, bytes, whose).then((share) => {
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
    const queue = queueOf(10, 10)
    const taken: string[] = []
    const a = await taking(queue, taken, 'a', 8)
    const large = taking(queue, taken, 'large', 5)
    const small = taking(queue, taken, 'small', 1)
    await settled()
    expect(taken).to.deep.equal(['a'])
    a.release()
    await Promise.all([large, small])
    expect(taken).to.deep.equal(['a', 'large', 'small'])
  })

  it('gives no account more than its part, and lets nobody else wait for that', async () => {
    const queue = queueOf(12, 4)
    const taken: string[] = []
    const a = await taking(queue, taken, 'a', 3, signal, 'one')
    const more = taking(queue, taken, 'more of a', 2, signal, 'one')
    const small = taking(queue, taken, 'small of a', 1, signal, 'one')
    await taking(queue, taken, 'b', 4, signal, 'other')
    expect(taken).to.deep.equal(['a', 'b'])
    a.release()
    await Promise.all([more, small])
    expect(taken).to.deep.equal(['a', 'b', 'more of a', 'small of a'])
  })

  it('gets back what a share is reduced by, and counts nothing twice', async () => {
    const queue = queueOf(10, 10)
    const taken: string[] = []
    const a = await taking(queue, taken, 'a', 10)
    a.lowerTo(4)
    a.lowerTo(9)
    const b = await taking(queue, taken, 'b', 6)
    const c = taking(queue, taken, 'c', 5)
    a.release()
    a.release()
    await settled()
    expect(taken).to.deep.equal(['a', 'b'])
    b.release()
    await c
  })

  it('gives nothing to an aborted request, which blocks no other', async () => {
    const queue = queueOf(10, 10)
    const taken: string[] = []
    const call = new AbortController()
    const a = await taking(queue, taken, 'a', 8)
    const aborted = taking(queue, taken, 'aborted', 5, call.signal)
    const small = taking(queue, taken, 'small', 2)
    call.abort(new Error('its call has ended'))
    expect((await failureOf(aborted)).message).to.equal('its call has ended')
    await small
    a.release()
    await taking(queue, taken, 'next', 8)
    expect(taken).to.deep.equal(['a', 'small', 'next'])
    expect((await failureOf(queue.take('a', 1, call.signal))).message).to.equal('its call has ended')
  })
})
