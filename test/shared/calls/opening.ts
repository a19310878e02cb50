import type { Period } from '../../../src/shared/identity/budgets.ts'
import type { Db } from '../../../src/shared/platform/postgres/db.ts'
import { firstIdAt, newId } from '../../../src/shared/platform/ids.ts'
import type { AccountId, CallId, GrantId } from '../../../src/shared/platform/ids.ts'
import { openCalls } from '../../../src/shared/calls/statements.ts'
import type { AccountLimits } from '../../../src/shared/calls/statements.ts'
import { gatewayError } from '../../../src/shared/platform/errors.ts'
import { Calls } from '../../../src/shared/calls/calls.ts'
import { mediaOutput } from '../../../src/shared/calls/stored-answers.ts'
import type { OpenOutcome, OpenRequest, StoredSettlement } from '../../../src/shared/calls/types.ts'
import type { Refusal } from '../../../src/shared/calls/refusal-records.ts'
import type { LedgerEntry } from '../../../src/shared/ledger/ledger.ts'
import { entriesOfCall } from '../../../src/shared/ledger/ledger.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'

/** The verbs, over the test's own pool. */
export const verbs = (db: Db, maxOutstanding = 1_000_000, maxRequestBytes?: number): Calls =>
  new Calls(db, { resultSeconds: 600, maxOutstanding, ...(maxRequestBytes !== undefined && { maxRequestBytes }) })

/** Folds an account's calls and deletes their records, as retention does once they are old. Those of others stay. */
export async function sweepCallsOf(db: Db, account: AccountId): Promise<void> {
  const ids = db('calls').where({ account_id: account }).select('id')
  await db.raw(`INSERT INTO usage_hours SELECT * FROM calls_usage('-infinity', 'infinity') WHERE account_id = ?`, [
    account,
  ])
  await db('usage_watermark').update({ records_from: 'infinity' })
  await db('call_results').whereIn('call_id', ids).delete()
  await db('calls').where({ account_id: account }).delete()
}

/** The id of a call that was accepted at this moment. */
export const callIdAt = (at: Date): CallId =>
  (firstIdAt('call', at.getTime()).slice(0, 14) + newId('call').slice(14)) as CallId

/** A request to open an image call at this price. */
export function anOrder(
  account: Pick<TestAccount, 'id' | 'keyId'>,
  amount: number,
  more: Partial<OpenRequest> = {},
): OpenRequest {
  return {
    id: newId('call'),
    accountId: account.id,
    keyId: account.keyId,
    modality: 'image',
    model: 'some-image',
    catalogueVersion: 1,
    price: { credits: amount },
    amount,
    estimate: null,
    deadlineSeconds: 3600,
    requestId: 'a-request',
    replyTo: 'nobody',
    idempotency: null,
    requestHash: null,
    requestBytes: 100,
    secretVersion: 1,
    address: '192.0.2.1',
    ...more,
  }
}

/** A refusal of a call of an account, for its record. */
export const aRefusal = (
  { id, keyId, userId }: Pick<TestAccount, 'id' | 'keyId' | 'userId'>,
  more: Partial<Refusal> = {},
): Refusal => ({
  id: newId('call'),
  accountId: id,
  keyId,
  userId,
  modality: 'chat',
  model: 'm',
  error: 'rate_limited',
  requestId: 'a-request',
  latencyMs: 1,
  ...more,
})

/** A result at this cost. */
export const aResult = (cost: number): StoredSettlement => ({
  cost,
  tokens: null,
  costMicroUsd: null,
  upstream: 'sandbox',
  resultUrl: null,
  output: mediaOutput(1, ['https://example.com/a.png']),
})

/** Opens a call that must be opened. @returns its id. */
export async function opened(
  calls: Calls,
  account: Pick<TestAccount, 'id' | 'keyId'>,
  amount: number,
  more: Partial<OpenRequest> = {},
): Promise<CallId> {
  const order = anOrder(account, amount, more)
  const outcome = await calls.open(order)
  if (!outcome.opened) throw new Error(`not opened: ${wordOf(outcome)}`)
  return order.id
}

/** Opens a call that must be opened, and settles it at its whole charge. */
export async function spent(calls: Calls, account: Pick<TestAccount, 'id' | 'keyId'>, amount: number): Promise<void> {
  await calls.settle(await opened(calls, account, amount), 'image', aResult(amount))
}

/** An outcome as one word. */
export const wordOf = (outcome: OpenOutcome): string => {
  if (outcome.opened) return 'opened'
  return 'refusal' in outcome ? outcome.refusal : 'exists'
}

/** The outcomes of one batch, as one word each. */
export const wordsOf = async (
  db: Db,
  orders: OpenRequest[],
  limits: AccountLimits = { maxOutstanding: 1000 },
): Promise<string[]> => (await openCalls(db, orders, limits)).map(({ outcome }) => outcome)

/** Ends a call as one whose upstream has failed. */
export const refund = (db: Db, id: CallId) => verbs(db).refund(id, gatewayError('upstream_failed'))

/** What remains in these grants. */
export async function remainders(db: Db, grants: readonly GrantId[]): Promise<number[]> {
  const rows = await db('grants')
    .whereIn('id', [...grants])
    .select<{ id: GrantId; remaining: number }[]>('id', 'remaining')
  const known = new Map(rows.map((row) => [row.id, row.remaining]))
  return grants.map((id) => known.get(id)!)
}

/** A call's movements as `kind amount → grant`, grants numbered in the order they were made. */
export async function movements(db: Db, id: CallId, grants: readonly GrantId[]): Promise<string[]> {
  const numbers = new Map(grants.map((grant, at) => [`grant_${grant.replaceAll('-', '')}`, at]))
  return (await entriesOfCall(db, id)).map(
    ({ kind, amount, grantId }: LedgerEntry) => `${kind} ${amount} ${numbers.get(grantId)}`,
  )
}

/** Lets the lease of an open call pass: no process looks after it. */
export const letLapse = async (db: Db, id: CallId): Promise<void> => {
  await db('calls')
    .where({ id })
    .update({ lease_until: db.raw("now() - interval '1 second'") })
}

/** A call's row. */
export const rowOf = async (db: Db, id: CallId): Promise<Record<string, unknown>> =>
  await db('calls').where({ id }).first<Record<string, unknown>>()

/** Moves the expiry of a grant into the past, unless it is there. */
export const letExpire = (db: Db, grant: GrantId): Promise<void> =>
  changeTimes(db, grant, {
    expires_at: db.raw("CASE WHEN expires_at <= now() THEN expires_at ELSE now() - interval '1 second' END"),
  })

/** Lets so many hours pass for a grant. */
export const letPass = (db: Db, grant: GrantId, hours: number): Promise<void> =>
  changeTimes(db, grant, {
    expires_at: db.raw('expires_at - make_interval(hours => ?)', [hours]),
    revived_until: db.raw('revived_until - make_interval(hours => ?)', [hours]),
  })

async function changeTimes(db: Db, grant: GrantId, times: object): Promise<void> {
  await db.transaction(async (trx) => {
    // Nothing changes a grant beside its account's lock; one that did would change what a movement has just read.
    await trx.raw(
      'SELECT FROM accounts WHERE id = (SELECT account_id FROM grants WHERE id = ?) FOR NO KEY UPDATE',
      grant,
    )
    await trx('grants').where({ id: grant }).update(times)
  })
}

/** Moves an account's calls and their windows a period back: what was now is the window before. */
export async function letWindowPass(
  db: Db,
  account: Pick<TestAccount, 'id'>,
  period: Exclude<Period, 'total'>,
): Promise<void> {
  const back = (column: string) =>
    db.raw(`(?? AT TIME ZONE 'UTC' - ('1 ' || ?::text)::interval) AT TIME ZONE 'UTC'`, [column, period])
  await db.transaction(async (trx) => {
    await trx('budget_windows')
      .whereIn('budget_id', trx('budgets').where({ account_id: account.id }).select('id'))
      .update({ starts_at: back('starts_at') })
    await trx('budgets').where({ account_id: account.id }).update({ created_at: '-infinity' })
    // The first moment of the window: a month is not as long as the one before it.
    await trx('calls')
      .where({ account_id: account.id })
      .update({ created_at: trx.raw(`budget_window(?, ?) + interval '1 second'`, [period, back('created_at')]) })
  })
}

/** How many open calls an account has, by its row. */
export async function outstandingOf(db: Db, id: AccountId): Promise<number> {
  return (await db('accounts').where({ id }).first<{ outstanding_calls: number }>('outstanding_calls'))
    .outstanding_calls
}

/** What an account can spend now: its balance without expired grants that were not swept yet. */
export async function spendableCredits(db: Db, accountId: AccountId): Promise<number> {
  const { rows } = await db.raw<{ rows: { credits: number }[] }>(
    'SELECT coalesce(max(upto), 0)::bigint AS credits FROM spendable_grants(ARRAY[?::uuid])',
    [accountId],
  )
  return rows[0]!.credits
}
