import { expect } from 'chai'
import { afterEach, beforeEach, describe, it } from 'mocha'
import pino from 'pino'
import { gatewayError } from '../../../src/shared/platform/errors.ts'
import type { Db } from '../../../src/shared/platform/postgres/db.ts'
import { newId } from '../../../src/shared/platform/ids.ts'
import type { Calls } from '../../../src/shared/calls/calls.ts'
import { Cancelled, Requeued, TakenOver, createHeldCalls } from '../../../src/workers/calls/held-calls.ts'
import type { HeldCall, HeldCalls } from '../../../src/workers/calls/held-calls.ts'
import { connectTestDb, testDatabaseUrl } from '../../../scripts/harness/database.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import { letLapse, opened, verbs } from '../../shared/calls/opening.ts'

describe('the calls that a worker holds', () => {
  let db: Db
  let calls: Calls
  let held: HeldCalls
  before(async () => {
    db = connectTestDb({ DATABASE_URL: await testDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 2 })
    calls = verbs(db)
  })
  after(() => db.destroy())
  beforeEach(() => {
    held = createHeldCalls(calls, pino({ level: 'silent' }))
  })
  afterEach(() => held.stop())

  /** A call that this process has begun. */
  function begun(id = newId('call')): HeldCall {
    const call = held.hold(id)!
    held.begun(call, { attempt: 1, resumed: false })
    return call
  }

  it('are held once each, so that no second run of one begins in this process', () => {
    const call = begun()
    expect(held.hold(call.id)).to.equal(null)
    held.release(call)
    expect(held.hold(call.id)).to.not.equal(null)
    expect(held.size()).to.equal(1)
  })

  it('are ended by their id, and no others', () => {
    const [call, other, released] = [begun(), begun(), begun()]
    held.release(released)
    for (const { id } of [call, released]) held.cancel(id)
    expect(call.ending.signal.reason).to.be.instanceOf(Cancelled)
    for (const { ending } of [other, released]) expect(ending.signal.aborted).to.equal(false)
  })

  it('are ended once they are begun if their client left before, unless an upstream may have them', () => {
    for (const resumed of [false, true]) {
      const call = held.hold(newId('call'))!
      held.cancel(call.id)
      expect(call.ending.signal.aborted).to.equal(false)
      held.begun(call, { attempt: 1, resumed })
      expect(call.ending.signal.aborted).to.equal(!resumed)
    }
  })

  it('go back to their queue all together, and so does what is held after that', () => {
    const [early, released] = [begun(), begun()]
    held.release(released)
    held.requeueAll()
    expect(released.ending.signal.aborted).to.equal(false)
    for (const { ending } of [early, begun()]) expect(ending.signal.reason).to.be.instanceOf(Requeued)
  })

  it('have their leases renewed together; the work ends on those that have ended or were taken over', async () => {
    const account = await anAccount(db, 100)
    const aCall = () => opened(calls, account, 1)
    // A crash of Postgres has lost the begin of the second.
    const [own, lost, taken, ended] = [await aCall(), await aCall(), await aCall(), await aCall()]
    for (const id of [own, taken, ended]) await calls.begin(id)
    const all = [own, lost, taken, ended].map((id) => begun(id))
    for (const id of [own, lost, taken]) await letLapse(db, id)
    await calls.begin(taken)
    await calls.refund(ended, gatewayError('upstream_failed'))
    await held.renew()
    expect(all.map(({ ending }) => ending.signal.reason instanceof TakenOver)).to.deep.equal([false, false, true, true])
    for (const id of [own, lost]) expect(await calls.leaseOf(id)).to.be.above(0)
    for (const id of [own, lost, taken]) await calls.refund(id, gatewayError('upstream_failed'))
  })
})
