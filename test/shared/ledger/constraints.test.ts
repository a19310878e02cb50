import { expect } from 'chai'
import type { Trx } from '../../../src/shared/platform/postgres/db.ts'
import { gatewayError } from '../../../src/shared/platform/errors.ts'
import { newId } from '../../../src/shared/platform/ids.ts'
import type { CallId } from '../../../src/shared/platform/ids.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import { aResult, opened, verbs } from '../calls/opening.ts'
import { useBooks } from '../../support/database.ts'
import { useAccount } from '../../support/gateway.ts'

const UNIQUE = '23505'
const CHECK = '23514'

type Entry = { call_id?: CallId | null; grant_id?: string; kind: string; amount: number; account_id?: string }

describe('the database itself', () => {
  const db = useBooks()
  const calls = verbs(db)
  const account = useAccount({ db }, [{ amount: 30, days: 1 }, { amount: 30 }])

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

  const ONCE = 'ledger_entries_once_per_call'
  const MATCH = 'ledger_entries_match_calls'
  const OWN = 'ledger_entries_grant_of_the_account'
  const settle = (id: CallId, cost: number) => calls.settle(id, 'image', aResult(cost))

  /** What is written about a call of 10 credits that is open, or was ended so, and which constraint refuses it. */
  const REFUSED: [title: string, end: ((id: CallId) => unknown) | null, entry: Omit<Entry, 'call_id'>, by: string][] = [
    ['a second charge of a call', null, { kind: 'charge', amount: -10 }, ONCE],
    ['a settlement of a call that has not succeeded', null, { kind: 'settlement', amount: 4 }, MATCH],
    ['a second settlement', (id) => settle(id, 4), { kind: 'settlement', amount: 4 }, ONCE],
    ['a refund of a call that has not failed', null, { kind: 'refund', amount: 10 }, MATCH],
    [
      'a second refund',
      (id) => calls.refund(id, gatewayError('upstream_failed')),
      { kind: 'refund', amount: 10 },
      ONCE,
    ],
    ['a refund of a call that is settled', (id) => settle(id, 10), { kind: 'refund', amount: 10 }, MATCH],
  ]
  for (const [title, end, entry, by] of REFUSED)
    it(`refuses ${title}`, async () => {
      const id = await opened(calls, account, 10)
      await end?.(id)
      expect(await refusal(write({ call_id: id, ...entry }))).to.equal(by)
    })

  it('refuses a second charge or settlement of a call on another grant', async () => {
    const id = await opened(calls, account, 10)
    const other = { call_id: id, grant_id: account.grants[1] }
    expect(await refusal(write({ ...other, kind: 'charge', amount: -10 }))).to.equal(MATCH)
    await settle(id, 4)
    expect(await refusal(write({ ...other, kind: 'settlement', amount: -4 }))).to.equal(MATCH)
  })

  it('refuses a refund of more than the call took from that grant, even if the sums are right', async () => {
    const id = await opened(calls, account, 40)
    const failed = { status: 'failed', credits: 0, http_status: 502, error_type: 'upstream_failed' }
    const tooMuch = async (trx: Trx): Promise<void> => {
      await trx('calls')
        .where({ id })
        .update({ ...failed, finished_at: trx.fn.now() })
      await write({ call_id: id, kind: 'refund', amount: 40 })(trx)
    }
    expect(await refusal(tooMuch)).to.equal('ledger_entries_return_at_most_the_charge')
  })

  it("refuses entries of a call or a grant that is another account's or nobody's", async () => {
    const other = await anAccount(db, 100)
    const foreign = await opened(calls, other, 10)
    const entries: [Entry, string][] = [
      [{ call_id: newId('call'), kind: 'charge', amount: -1 }, MATCH],
      [{ call_id: foreign, kind: 'charge', amount: -10 }, MATCH],
      [{ kind: 'grant', amount: 1, grant_id: other.grants[0] }, OWN],
      [{ kind: 'grant', amount: 1, grant_id: newId('grant') }, OWN],
    ]
    for (const [entry, by] of entries) expect(await refusal(write(entry)), JSON.stringify(entry)).to.equal(by)
  })

  it('refuses two entries with one number', async () => {
    const [grant_id] = account.grants
    const entry = { account_id: account.id, grant_id, kind: 'grant', amount: 1, balance_after: 1, seq: 1 }
    expect(await refusal((trx) => trx('ledger_entries').insert(entry))).to.equal('ledger_entries_pkey')
  })

  it('keeps the ledger append-only: no change, no deletion, no truncation', async () => {
    const own = (trx: Trx) => trx('ledger_entries').where({ account_id: account.id })
    for (const work of [
      (trx: Trx) => own(trx).update({ amount: 1 }),
      (trx: Trx) => own(trx).delete(),
      (trx: Trx) => trx.raw('TRUNCATE ledger_entries'),
    ])
      expect(await refusal(work)).to.equal('append-only')
  })

  it('refuses one idempotency key for two calls of an account', async () => {
    const more = { requestHash: '00'.repeat(32) }
    await opened(calls, account, 1, { ...more, idempotency: { key: 'k', seconds: 60 } })
    const second = await opened(calls, account, 1, more)
    const change = { idempotency_key: 'k', idempotency_expires_at: db.fn.now() }
    expect(await refusal((trx) => trx('calls').where({ id: second }).update(change))).to.equal('calls_idempotency')
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
