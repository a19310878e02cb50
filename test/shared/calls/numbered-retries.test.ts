import { expect } from 'chai'
import { createKey } from '../../../src/shared/identity/api-keys.ts'
import { claimCall } from '../../../src/shared/calls/numbered-retries.ts'
import type { DeadProcess } from '../../../src/shared/calls/numbered-retries.ts'
import { gatewayError } from '../../../src/shared/platform/errors.ts'
import type { CallId } from '../../../src/shared/platform/ids.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { untilItWaits } from '../../support/lock-waits.ts'
import { anOrder, aResult, opened, verbs } from './opening.ts'
import { useBooks } from '../../support/database.ts'

const HASH = 'ab'.repeat(32)

describe('a retry of a call that is just being ended', () => {
  const db = useBooks()
  const calls = verbs(db)

  /** Ends a call, and looks for it after its row was locked and before its result is there. */
  async function claimWhileItEnds(
    replyTo: string,
    abandoned: boolean,
    dead: DeadProcess[] = [],
  ): Promise<{ id: CallId; claimed: CallId | null }> {
    const account = await anAccount(db, 100)
    const id = await opened(calls, account, 5, { requestHash: HASH, replyTo })
    if (abandoned) await calls.markAbandoned(id)
    const noResults = await db.transaction()
    await noResults.raw('LOCK TABLE call_results IN SHARE MODE')
    const settled = calls.settle(id, 'image', aResult(5))
    try {
      await untilItWaits(db, '%end_calls%')
      const retry = { userId: account.userId, keyId: account.keyId, requestHash: HASH, replyTo: 'another' }
      const claimed = claimCall(db, { accountId: account.id, ...retry }, dead)
      await untilItWaits(db, '%claim_call%')
      await noResults.rollback()
      expect(await settled).to.include({ status: 'succeeded' })
      return { id, claimed: await claimed }
    } finally {
      await noResults.rollback()
    }
  }

  it('joins it where its client went away', async () => {
    const { id, claimed } = await claimWhileItEnds('a-process', true)
    expect(claimed).to.equal(id)
  })

  it('joins it where its process died', async () => {
    const dead = [{ address: 'a-dead-process', lastSeenMs: Date.now() }]
    const { id, claimed } = await claimWhileItEnds('a-dead-process', false, dead)
    expect(claimed).to.equal(id)
  })

  it('joins none that its process had answered before it died', async () => {
    const dead = [{ address: 'a-dead-process', lastSeenMs: Date.now() + 60_000 }]
    expect((await claimWhileItEnds('a-dead-process', false, dead)).claimed).to.equal(null)
  })
})

describe('equal requests that come together to calls that were left', () => {
  const db = useBooks()

  /** Opens calls of an account, and leaves them for longer than the moment in which an equal request is another one. */
  async function leftCalls(account: TestAccount, count: number): Promise<CallId[]> {
    const calls = verbs(db)
    const ids: CallId[] = []
    for (let n = 0; n < count; n++) ids.push(await opened(calls, account, 5, { requestHash: HASH }))
    await db('calls')
      .whereIn('id', ids)
      .update({ abandoned_at: db.raw("now() - interval '1 second'") })
    return ids
  }

  const asking = (account: TestAccount, more: object = {}) =>
    anOrder(account, 5, { requestHash: HASH, joinsLeft: true, replyTo: 'another', ...more })

  it('each take over another one, whichever process they come to, and the others open calls of their own', async () => {
    const account = await anAccount(db, 1000)
    const left = await leftCalls(account, 12)
    const processes = [verbs(db), verbs(db)]
    const outcomes = await Promise.all(Array.from({ length: 40 }, (_, n) => processes[n % 2]!.open(asking(account))))
    const claimed = outcomes.flatMap((outcome) => ('claimed' in outcome ? [outcome.claimed] : []))
    expect(claimed.toSorted()).to.deep.equal(left.toSorted())
    expect(outcomes.filter(({ opened }) => opened)).to.have.length(28)
    const rows = await db('calls').whereIn('id', left).distinct('reply_to', 'abandoned_at')
    expect(rows).to.deep.equal([{ reply_to: 'another', abandoned_at: null }])
  })

  it('each take over another one where an SDK numbers them', async () => {
    const account = await anAccount(db, 1000)
    const left = await leftCalls(account, 2)
    const holding = await db.transaction()
    try {
      await holding('calls').where({ id: left.toSorted()[0] }).forUpdate().first('id')
      const retry = { accountId: account.id, userId: account.userId, keyId: account.keyId, requestHash: HASH }
      const claims = Promise.all([1, 2].map(() => claimCall(db, { ...retry, replyTo: 'another' }, [])))
      await untilItWaits(db, '%claim_call%', 2)
      await holding.rollback()
      expect(await claims).to.have.members(left)
    } finally {
      await holding.rollback()
    }
  })

  it('take over no call that has failed or is too old for them, nor without a number one of another key', async () => {
    const claim = (account: TestAccount, isNumbered: boolean): Promise<CallId | null> =>
      isNumbered
        ? claimCall(db, { ...account, accountId: account.id, requestHash: HASH, replyTo: 'another' }, [])
        : verbs(db)
            .open(asking(account))
            .then((outcome) => ('claimed' in outcome ? outcome.claimed : null))
    const ago = (seconds: number) => (id: CallId) =>
      db('calls')
        .where({ id })
        .update({ created_at: db.raw("now() - ? * interval '1 second'", [seconds]) })
    const CASES: [what: string, change: (id: CallId) => Promise<unknown>, numbered: boolean, without: boolean][] = [
      ['of 110 seconds ago', ago(110), true, true],
      ['of nine minutes ago', ago(540), true, false],
      ['of ten minutes ago', ago(601), false, false],
      ['that has failed', (id) => verbs(db).refund(id, gatewayError('upstream_failed')), false, false],
      ['of this key', () => Promise.resolve(), true, true],
    ]
    for (const [what, change, ...joins] of CASES)
      for (const [at, isJoined] of joins.entries()) {
        const account = await anAccount(db, 1000)
        const [id] = await leftCalls(account, 1)
        await change(id!)
        const { id: keyId } = await createKey(db, account.id, 'other')
        const others = await claim({ ...account, keyId, userId: account.userId }, false)
        expect(others, `${what}: with another key`).to.equal(null)
        expect(await claim(account, at === 0), `${what}: ${at === 0 ? 'numbered' : 'without a number'}`).to.equal(
          isJoined ? id : null,
        )
      }
  })

  it('take over nothing where the key is not valid or the account is suspended', async () => {
    const account = await anAccount(db, 1000)
    const [id] = await leftCalls(account, 1)
    expect(await verbs(db).open(asking(account, { secretVersion: 2 }))).to.include({ refusal: 'unauthorized' })
    await db('accounts').where({ id: account.id }).update({ status: 'suspended' })
    expect(await verbs(db).open(asking(account))).to.include({ refusal: 'account_suspended' })
    expect((await db('calls').where({ id }).first()).abandoned_at).not.to.equal(null)
  })
})
