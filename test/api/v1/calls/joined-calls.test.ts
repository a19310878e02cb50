import { expect } from 'chai'
import type { Db } from '../../../../src/shared/platform/postgres/db.ts'
import type { CallContext } from '../../../../src/api/v1/calls/placed-call.ts'
import { joinRetried, requestHash } from '../../../../src/api/v1/calls/joined-calls.ts'
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

const hash = (more: Record<string, unknown>): string => requestHash('chat', { model: 'm', messages: [], ...more })

const text = (words: string) => ({ type: 'text', text: words })

describe('the same request', () => {
  it('is one whatever the form of its answer and the order of its keys', () => {
    expect(requestHash('chat', { messages: [], stream: true, model: 'm', stream_options: {} })).to.equal(hash({}))
  })

  it('is one whatever an agent tells its vendor about itself', () => {
    expect(hash({ client_metadata: { a: 1 } })).to.equal(hash({ client_metadata: { b: 2 } }))
    const billed = (session: string) =>
      hash({ system: [text(`x-anthropic-billing-header: ${session}`), text('Be brief.')] })
    expect(billed('one')).to.equal(billed('two'))
    expect(billed('one')).to.equal(hash({ system: [text('Be brief.')] }))
  })

  it('is another one for another model, system or turn', () => {
    const others = [
      {},
      { model: 'n' },
      { messages: [1] },
      { system: 'x' },
      { system: [text('x')] },
      { metadata: { a: 1 } },
    ]
    expect(new Set(others.map(hash)).size).to.equal(others.length)
  })
})
