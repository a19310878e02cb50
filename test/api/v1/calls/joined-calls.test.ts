import { expect } from 'chai'
import type { Db } from '../../../../src/shared/platform/postgres/db.ts'
import type { CallContext } from '../../../../src/api/v1/calls/placed-call.ts'
import { joinRetried } from '../../../../src/api/v1/calls/joined-calls.ts'
import { connectTestDb, testDatabaseUrl } from '../../../../scripts/harness/database.ts'
import { anAccount } from '../../../../scripts/harness/factories.ts'
import { expectBooksToBalance } from '../../../support/books.ts'
import { aResult, opened, verbs } from '../../../shared/calls/opening.ts'

const HASH = 'cd'.repeat(32)

describe('a numbered retry', () => {
  let db: Db
  before(async () => {
    db = connectTestDb({ DATABASE_URL: await testDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 4 })
  })
  afterEach(() => expectBooksToBalance(db))
  after(() => db.destroy())

  it('joins a call that ends after its client has disconnected, and before that is recorded', async () => {
    const calls = verbs(db)
    const account = await anAccount(db, 100)
    const id = await opened(calls, account, 5, { requestHash: HASH, replyTo: 'another' })
    const ctx = {
      state: { principal: { accountId: account.id, userId: account.userId, keyId: account.keyId } },
      set: () => {},
    } as unknown as CallContext
    // What happens between the looks of the retry. No process is dead.
    const between = [
      () => calls.settle(id, 'image', aResult(5)),
      () => Promise.resolve(),
      () => calls.markAbandoned(id),
    ]
    const deps = {
      db,
      calls,
      replies: { address: 'here' },
      webProcesses: {
        findDead: async () => {
          await between.shift()?.()
          return []
        },
      },
    } as unknown as Parameters<typeof joinRetried>[1]
    const placed = await joinRetried(ctx, deps, {
      idempotencyKey: null,
      hash: HASH,
      isNumberedRetry: true,
      isNew: false,
    })
    expect(placed).to.include({ callId: id, joined: true, hasEnded: true })
  })
})
