import { expect } from 'chai'
import type { Trx } from '../../../src/shared/platform/postgres/db.ts'
import { gatewayError } from '../../../src/shared/platform/errors.ts'
import { newId } from '../../../src/shared/platform/ids.ts'
import type { CallId } from '../../../src/shared/platform/ids.ts'
import type { Calls } from '../../../src/shared/calls/calls.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { aResult, opened, verbs } from '../calls/opening.ts'
import { useBooks } from '../../support/database.ts'

const UNIQUE = '23505'
const CHECK = '23514'

type Entry = { call_id?: CallId | null; grant_id?: string; kind: string; amount: number; account_id?: string }

describe('the database itself', () => {
  const db = useBooks()
  let calls: Calls
  let account: TestAccount
  before(async () => {
    calls = verbs(db)
  })
  beforeEach(async () => {
    account = await anAccount(db, [{ amount: 30, days: 1 }, { amount: 30 }])
  })

  /** Tries something that must be impossible. Returns the constraint or the code that refused it. */
  async function refusal(work: (trx: Trx) => Promise<unknown>): Promise<string> {
    try {
      await db.transaction(async (trx) => {
        await work(trx)
        throw new Error('was taken')
      })
    } catch (error) {
      const { code, constraint, message } = error as { code?: string; constraint?: string; message: string }
      if (code === undefined) throw error
      if (code === 'restrict' || /append-only/.test(message)) return 'append-only'
      return constraint ?? code
    }
    throw new Error('unreachable')
  }

  /** Writes an entry without the verbs, with the next number of its account. */
  const write =
    (entry: Entry) =>
    async (trx: Trx): Promise<void> => {
      const userId = entry.account_id ?? account.id
      const {
        rows: [next],
      } = await trx.raw<{ rows: { seq: number }[] }>(
        'SELECT coalesce(max(seq), 0) + 1 AS seq FROM ledger_entries WHERE account_id = ?',
        [userId],
      )
      await trx('ledger_entries').insert({
        grant_id: account.grants[0],
        balance_after: 1,
        ...entry,
        account_id: userId,
        seq: next!.seq,
      })
    }

  it('refuses a second charge of a call on the same grant and on another', async () => {
    const id = await opened(calls, account, 10)
    expect(await refusal(write({ call_id: id, kind: 'charge', amount: -10 }))).to.equal('ledger_entries_once_per_call')
    expect(await refusal(write({ call_id: id, kind: 'charge', amount: -10, grant_id: account.grants[1] }))).to.equal(
      'ledger_entries_match_calls',
    )
  })

  it('refuses a second settlement of a call, and a settlement of one that has not succeeded', async () => {
    const id = await opened(calls, account, 10)
    expect(await refusal(write({ call_id: id, kind: 'settlement', amount: 4 }))).to.equal('ledger_entries_match_calls')
    await calls.settle(id, 'image', aResult(4))
    expect(await refusal(write({ call_id: id, kind: 'settlement', amount: 4 }))).to.equal(
      'ledger_entries_once_per_call',
    )
    expect(await refusal(write({ call_id: id, kind: 'settlement', amount: -4, grant_id: account.grants[1] }))).to.equal(
      'ledger_entries_match_calls',
    )
  })

  it('refuses a second refund of a call, and a refund of one that has not failed', async () => {
    const id = await opened(calls, account, 40)
    expect(await refusal(write({ call_id: id, kind: 'refund', amount: 30 }))).to.equal('ledger_entries_match_calls')
    await calls.refund(id, gatewayError('upstream_failed'))
    expect(await refusal(write({ call_id: id, kind: 'refund', amount: 30 }))).to.equal('ledger_entries_once_per_call')
  })

  it('refuses to settle and refund one call', async () => {
    const id = await opened(calls, account, 10)
    await calls.settle(id, 'image', aResult(10))
    expect(await refusal(write({ call_id: id, kind: 'refund', amount: 10 }))).to.equal('ledger_entries_match_calls')
  })

  it('refuses a refund of more than the call took from that grant, even if the sums are right', async () => {
    const id = await opened(calls, account, 40)
    expect(
      await refusal(async (trx) => {
        await trx('calls').where({ id }).update({
          status: 'failed',
          credits: 0,
          http_status: 502,
          error_type: 'upstream_failed',
          finished_at: trx.fn.now(),
        })
        await write({ call_id: id, kind: 'refund', amount: 40 })(trx)
      }),
    ).to.equal('ledger_entries_return_at_most_the_charge')
  })

  it('refuses entries of calls that do not exist, and charges without a call', async () => {
    expect(await refusal(write({ call_id: newId('call'), kind: 'charge', amount: -1 }))).to.equal(
      'ledger_entries_match_calls',
    )
    for (const [kind, amount] of [
      ['charge', -1],
      ['settlement', 1],
      ['refund', 1],
    ] as const) {
      expect(await refusal(write({ kind, amount })), kind).to.equal('ledger_entries_call_where_needed')
    }
    const id = await opened(calls, account, 10)
    for (const [kind, amount] of [
      ['grant', 1],
      ['expiry', -1],
      ['adjustment', -1],
      ['collection', -1],
    ] as const) {
      expect(await refusal(write({ call_id: id, kind, amount })), kind).to.equal('ledger_entries_call_where_needed')
    }
  })

  it("refuses entries over another account's grant or call, and over a grant that does not exist", async () => {
    const other = await anAccount(db, 100)
    const id = await opened(calls, other, 10)
    expect(await refusal(write({ kind: 'grant', amount: 1, grant_id: other.grants[0] }))).to.equal(
      'ledger_entries_grant_of_the_account',
    )
    expect(await refusal(write({ kind: 'grant', amount: 1, grant_id: newId('grant') }))).to.equal(
      'ledger_entries_grant_of_the_account',
    )
    expect(await refusal(write({ call_id: id, kind: 'charge', amount: -10 }))).to.equal('ledger_entries_match_calls')
  })

  it('refuses two entries with one number, and numbers below one', async () => {
    const entry = {
      account_id: account.id,
      grant_id: account.grants[0],
      kind: 'grant',
      amount: 1,
      balance_after: 1,
    }
    expect(await refusal((trx) => trx('ledger_entries').insert({ ...entry, seq: 1 }))).to.equal('ledger_entries_pkey')
    expect(await refusal((trx) => trx('ledger_entries').insert({ ...entry, seq: 0 }))).to.equal(
      'ledger_entries_seq_positive',
    )
  })

  it('keeps the ledger append-only: no change, no deletion, no truncation', async () => {
    expect(
      await refusal((trx) => trx('ledger_entries').where({ account_id: account.id }).update({ amount: 1 })),
    ).to.equal('append-only')
    expect(await refusal((trx) => trx('ledger_entries').where({ account_id: account.id }).delete())).to.equal(
      'append-only',
    )
    expect(await refusal((trx) => trx.raw('TRUNCATE ledger_entries'))).to.equal('append-only')
  })

  it('refuses one idempotency key for two calls of an account', async () => {
    const more = { requestHash: '00'.repeat(32) }
    await opened(calls, account, 1, { ...more, idempotency: { key: 'k', seconds: 60 } })
    const second = await opened(calls, account, 1, more)
    const change = { idempotency_key: 'k', idempotency_expires_at: db.fn.now() }
    expect(await refusal((trx) => trx('calls').where({ id: second }).update(change))).to.equal('calls_idempotency')
    expect(
      await refusal((trx) =>
        trx('calls')
          .where({ id: second })
          .update({ ...change, idempotency_expires_at: null }),
      ),
    ).to.equal('calls_idempotency_whole')
  })

  it('reports its refusals with the codes that the verbs rely on', async () => {
    const codes: string[] = []
    for (const amount of [-10, 10]) {
      const id = await opened(calls, account, 10)
      await db
        .transaction(write({ call_id: id, kind: 'charge', amount }))
        .catch((error: { code: string }) => codes.push(error.code))
    }
    expect(codes).to.deep.equal([UNIQUE, CHECK])
  })
})
