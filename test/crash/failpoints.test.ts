import { expect } from 'chai'
import { createLog } from '../../src/shared/platform/process/log.ts'
import type { WorkerDeps } from '../../src/workers/deps.ts'
import { reconcileCalls } from '../../src/workers/reconciler.ts'
import { anOrder, letLapse, opened, rowOf, verbs } from '../shared/calls/opening.ts'
import { anAccount } from '../../scripts/harness/factories.ts'
import { useBooks } from '../support/database.ts'

/** Races that random schedules rarely hit. */
describe('two processes at the same moment', () => {
  // A reconciler sees to the calls of everybody.
  const db = useBooks({ isOwn: true })
  const [calls, ofReconciler] = [verbs(db), verbs(db)]

  for (const status of ['queued', 'running'] as const) {
    it(`begin a ${status} call that a reconciler has found lost: it goes on`, async () => {
      const id = await opened(calls, await anAccount(db, 1), 1)
      if (status === 'running') await calls.begin(id)
      await letLapse(db, id)
      // The worker takes the job between the reconciler's check of the queue and its refund.
      const hasJob = async () => {
        await calls.begin(id)
        return false
      }
      const queues = { hasJob, isLeftToWeb: async () => false }
      const log = createLog('silent', 'worker')
      const deps = { db, calls: ofReconciler, queues, log, publisher: { ended: async () => {} } }
      await reconcileCalls(deps as unknown as WorkerDeps)
      expect(await rowOf(db, id)).to.include({ status: 'running', credits: 1 })
    })
  }

  it('open a call whose commit was not acknowledged, even if its key was revoked since', async () => {
    const account = await anAccount(db, 10)
    const request = anOrder(account, 1)
    await calls.open(request)
    await db('api_keys').where({ id: account.keyId }).update({ revoked_at: db.fn.now() })
    expect(await ofReconciler.open(request)).to.include({ opened: true, balance: 9 })
    expect(await calls.open(anOrder(account, 1))).to.deep.equal({ opened: false, refusal: 'unauthorized', tokens: [] })
  })
})
