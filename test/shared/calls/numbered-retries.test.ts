import { expect } from 'chai'
import type { Db } from '../../../src/shared/platform/postgres/db.ts'
import type { Calls } from '../../../src/shared/calls/calls.ts'
import { claimOfDeadProcess, claimUnanswered } from '../../../src/shared/calls/numbered-retries.ts'
import type { Retry } from '../../../src/shared/calls/numbered-retries.ts'
import type { CallId } from '../../../src/shared/platform/ids.ts'
import { connectTestDb, testDatabaseUrl } from '../../../scripts/harness/database.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import { untilItWaits } from '../../support/lock-waits.ts'
import { aResult, opened, verbs } from './opening.ts'

const HASH = 'ab'.repeat(32)

describe('a retry of a call that is just being ended', () => {
  let db: Db
  let calls: Calls
  before(async () => {
    db = connectTestDb({ DATABASE_URL: await testDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 10 })
    calls = verbs(db)
  })
  after(() => db.destroy())
  afterEach(() => expectBooksToBalance(db))

  /** Ends a call, and looks for it after its row was locked and before its result is there. */
  async function claimWhileItEnds(
    replyTo: string,
    abandoned: boolean,
    claim: (retry: Retry) => Promise<CallId | null>,
  ): Promise<{ id: CallId; claimed: CallId | null }> {
    const account = await anAccount(db, 100)
    const id = await opened(calls, account, 5, { requestHash: HASH, replyTo })
    if (abandoned) await calls.markAbandoned(id)
    const noResults = await db.transaction()
    await noResults.raw('LOCK TABLE call_results IN SHARE MODE')
    const settled = calls.settle(id, 'image', aResult(5))
    try {
      await untilItWaits(db, '%end_calls%')
      const claimed = claim({ accountId: account.id, keyId: account.keyId, requestHash: HASH, replyTo: 'another' })
      await untilItWaits(db, '%UPDATE calls SET abandoned_at%')
      await noResults.rollback()
      expect(await settled).to.include({ status: 'succeeded' })
      return { id, claimed: await claimed }
    } finally {
      await noResults.rollback()
    }
  }

  it('joins it where its client went away', async () => {
    const { id, claimed } = await claimWhileItEnds('a-process', true, (retry) => claimUnanswered(db, retry))
    expect(claimed).to.equal(id)
  })

  it('joins it where its process died', async () => {
    const dead = [{ address: 'a-dead-process', lastSeenMs: Date.now() }]
    const { id, claimed } = await claimWhileItEnds('a-dead-process', false, (retry) =>
      claimOfDeadProcess(db, retry, dead),
    )
    expect(claimed).to.equal(id)
  })
})
