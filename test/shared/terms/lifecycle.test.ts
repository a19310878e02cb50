import { expect } from 'chai'
import { gatewayError } from '../../../src/shared/platform/errors.ts'
import type { CallId } from '../../../src/shared/platform/ids.ts'
import type { CallStatus, Verb } from '../../../src/shared/terms/lifecycle.ts'
import { CALL_STATUSES, TRANSITIONS, hasEnded } from '../../../src/shared/terms/lifecycle.ts'
import { createRefusals } from '../../../src/shared/calls/refusal-records.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import { aRefusal, aResult, anOrder, letLapse, opened, rowOf, verbs } from '../calls/opening.ts'
import { useDb } from '../../support/database.ts'

describe('the table of transitions', () => {
  const db = useDb()

  it('ends in succeeded, failed and rejected, which no transition leaves', () => {
    expect(CALL_STATUSES.filter(hasEnded)).to.deep.equal(['succeeded', 'failed', 'rejected'])
    for (const { from } of Object.values(TRANSITIONS))
      for (const status of from) expect(status === null || !hasEnded(status)).to.equal(true)
  })

  it('is what the verbs do: each changes calls of its statuses, and no others', async () => {
    const calls = verbs(db)
    const account = await anAccount(db, 1000)
    const reach: Record<CallStatus, () => Promise<CallId>> = {
      queued: () => opened(calls, account, 1),
      running: async () => {
        const id = await opened(calls, account, 1)
        await calls.begin(id)
        await letLapse(db, id)
        return id
      },
      succeeded: async () => {
        const id = await opened(calls, account, 1)
        await calls.settle(id, 'image', aResult(1))
        return id
      },
      failed: async () => {
        const id = await opened(calls, account, 1)
        await calls.refund(id, gatewayError('upstream_failed'))
        return id
      },
      rejected: async () => {
        const refusal = aRefusal(account, { error: 'invalid_prompt' })
        await createRefusals(db)(refusal)
        return refusal.id
      },
    }
    const act: Partial<Record<Verb, (id: CallId) => Promise<unknown>>> = {
      begin: (id) => calls.begin(id),
      submitted: async (id) =>
        calls.submitted(id, (await rowOf(db, id)).attempts as number, { upstream: 'sandbox', ref: {} }),
      settle: (id) => calls.settle(id, 'image', aResult(1)),
      refund: (id) => calls.refund(id, gatewayError('upstream_failed')),
      open: (id) => calls.open(anOrder(account, 1, { id })),
    }
    for (const [verb, run] of Object.entries(act) as [Verb, (id: CallId) => Promise<unknown>][]) {
      for (const status of CALL_STATUSES) {
        const id = await reach[status]()
        const before = await rowOf(db, id)
        await run(id)
        const after = await rowOf(db, id)
        const isAllowed = (TRANSITIONS[verb].from as readonly unknown[]).includes(status)
        expect(after.status, `${verb} of a call that is ${status}`).to.equal(isAllowed ? TRANSITIONS[verb].to : status)
        if (!isAllowed) expect(after, `${verb} of a call that is ${status}`).to.deep.equal(before)
      }
    }
  })
})
