import { expect } from 'chai'
import { afterEach, beforeEach, describe, it } from 'mocha'
import pino from 'pino'
import { newId } from '../../../src/shared/platform/ids.ts'
import { Cancelled, Requeued, createHeldCalls } from '../../../src/workers/calls/held-calls.ts'
import type { HeldCalls } from '../../../src/workers/calls/held-calls.ts'

describe('the calls that a worker holds', () => {
  let held: HeldCalls
  beforeEach(() => {
    held = createHeldCalls({ renew: async () => {} }, pino({ level: 'silent' }))
  })
  afterEach(() => held.stop())

  it('are ended by their id, each run of one, and nobody else', () => {
    const id = newId('call')
    const [first, second, other] = [held.hold(id), held.hold(id), held.hold(newId('call'))]
    held.release(first)
    held.cancel(id)
    expect(held.size()).to.equal(2)
    expect(second.ending.signal.reason).to.be.instanceOf(Cancelled)
    for (const { ending } of [first, other]) expect(ending.signal.aborted).to.equal(false)
  })

  it('go back to their queue all together, and so does what is held after that', () => {
    const [early, released] = [held.hold(newId('call')), held.hold(newId('call'))]
    held.release(released)
    held.requeueAll()
    expect(released.ending.signal.aborted).to.equal(false)
    for (const { ending } of [early, held.hold(newId('call'))]) expect(ending.signal.reason).to.be.instanceOf(Requeued)
  })
})
