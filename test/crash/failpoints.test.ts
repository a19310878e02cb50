import { expect } from 'chai'
import { Calls } from '../../src/shared/calls/calls.ts'
import { newCallId } from '../../src/shared/reports/call-records.ts'
import type { CallId } from '../../src/shared/platform/ids.ts'
import { createLog } from '../../src/shared/platform/process/log.ts'
import type { WorkerDeps } from '../../src/workers/deps.ts'
import { reconcileCalls } from '../../src/workers/reconciler.ts'
import { anOrder, letLapse } from '../shared/calls/opening.ts'
import { anAccount } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import { useBooks } from '../support/database.ts'

/** Races that random schedules rarely hit. */
describe('two processes at the same moment', () => {
  const db = useBooks({ isOwn: true })
  let account: TestAccount
  before(async () => {
    account = await anAccount(db, 100_000)
  })

  const calls = (): Calls => new Calls(db, { resultSeconds: 60, maxOutstanding: 10_000 })
  const order = (id: CallId) => anOrder(account, 1, { id })
  const opened = async (): Promise<CallId> => {
    const id = newCallId()
    await calls().open(order(id))
    return id
  }

  it('begin a call, and only one of them gets it', async () => {
    const [one, two] = [calls(), calls()]
    for (let round = 0; round < 150; round++) {
      const id = await opened()
      const begun = await Promise.all([one.begin(id), two.begin(id)])
      expect(
        begun.map((call) => call?.resumed),
        `round ${round}`,
      ).to.have.members([false, undefined])
    }
  })

  for (const status of ['queued', 'running'] as const) {
    it(`begin a ${status} call that a reconciler has found lost: it goes on`, async () => {
      const id = await opened()
      if (status === 'running') await calls().begin(id)
      await letLapse(db, id)
      // The worker takes the job between the reconciler's check of the queue and its refund.
      const queues = {
        hasJob: async () => {
          await calls().begin(id)
          return false
        },
        isLeftToWeb: async () => false,
      }
      await reconcileCalls({
        db,
        calls: calls(),
        queues,
        log: createLog('silent', 'worker'),
        publisher: { ended: async () => {} },
      } as unknown as WorkerDeps)
      expect(await db('calls').where({ id }).first('status', 'credits')).to.deep.equal({
        status: 'running',
        credits: 1,
      })
    })
  }

  it('open a call whose commit was not acknowledged, even if its key was revoked since', async () => {
    const other = await anAccount(db, 10)
    const id = newCallId()
    const request = { ...order(id), accountId: other.id, keyId: other.keyId }
    await calls().open(request)
    await db('api_keys').where({ id: other.keyId }).update({ revoked_at: db.fn.now() })
    expect(await calls().open(request)).to.include({ opened: true, balance: 9 })
    expect(await calls().open({ ...request, id: newCallId() })).to.deep.equal({
      opened: false,
      refusal: 'unauthorized',
      tokens: [],
    })
  })
})
