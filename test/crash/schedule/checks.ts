import { expect } from 'chai'
import type { Db } from '../../../src/shared/platform/postgres/db.ts'
import { readState } from '../../../src/shared/reports/call-records.ts'
import type { CallState } from '../../../src/shared/reports/call-records.ts'
import type { Answer, LongAnswer } from '../../../src/shared/calls/stored-answers.ts'
import type { AccountId, CallId } from '../../../src/shared/platform/ids.ts'
import { dialectOf } from '../../../src/shared/chat/dialect.ts'
import { statusOf } from '../../../src/shared/platform/errors.ts'
import { reportedBy, wordsOf } from '../simulation/upstream.ts'
import { MAX_OUTSTANDING } from '../simulation/simulation.ts'
import type { Prices } from '../simulation/prices.ts'
import type { Simulation } from '../simulation/simulation.ts'
import type { Asked, Request } from '../simulation/clients.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import { dueFor, dueForTokens, tokensOf } from './due.ts'
import { GONE, checkNotMissed, checkSpeech, checkTranscript } from './file-checks.ts'
import { withHistory } from '../simulator.ts'
import type { CallRow, ScheduleRun } from './schedule-run.ts'

/** How often a chat may be sent to its upstream, whatever fails: twice an attempt, in two attempts. */
const MAX_CHAT_SENDS = 4

/** Every client that waited was answered by a living process, and no job failed unexpectedly. */
export function checkClients({ simulation, requests }: ScheduleRun): void {
  expect(simulation.dispatch.defects, 'what jobs and reconcilers failed with').to.deep.equal([])
  for (const { outcome, placed, web, left, asked } of requests) {
    if (outcome.is === 'broken') throw outcome.error
    if (outcome.is === 'unknown' && placed && web.process.alive && !left)
      throw new Error(`${asked.modality} ${asked.prompt}: its client was never answered`)
  }
}

/**
 * Checks every promise of the schedules that were run. Several are checked at once, in a database of their own:
 * auditing each by itself would take as long as running it.
 * @throws an Error that names the broken promise, and what happened.
 */
export async function checkOutcome(db: Db, runs: readonly ScheduleRun[]): Promise<void> {
  const ids = runs.flatMap(({ accounts }) => accounts.map(({ id }) => id))
  await blaming(runs, () => expectBooksToBalance(db))
  await blaming(runs, () => checkEntries(db, ids))
  const all = await db('calls').whereIn('account_id', ids).select<CallRow[]>('*')
  const states = new Map(await Promise.all(all.map(async ({ id }) => [id, await readState(db, id)] as const)))
  for (const run of runs) {
    const rows = new Map(all.filter(({ account_id }) => isOf(run, account_id)).map((row) => [row.id, row]))
    await blaming([run], () => checkEnd(run, rows, states))
  }
}

const isOf = ({ accounts }: ScheduleRun, account: AccountId): boolean => accounts.some(({ id }) => id === account)

/** Adds the run of the schedule whose ids an error names, or of the first one. */
async function blaming(runs: readonly ScheduleRun[], check: () => Promise<void> | void): Promise<void> {
  try {
    await check()
  } catch (error) {
    const idsOf = ({ accounts, requests }: ScheduleRun): string[] => [
      ...accounts.flatMap(({ id, grants }) => [id, ...grants]),
      ...requests.map(({ callId }) => callId),
    ]
    throw withHistory(runs.find((run) => idsOf(run).some((id) => String(error).includes(id))) ?? runs[0]!, error)
  }
}

type States = Map<CallId, CallState | null>

function checkEnd(run: ScheduleRun, rows: Map<CallId, CallRow>, states: States): void {
  for (const request of run.requests)
    checkRequest(run, request, rows.get(request.callId), states.get(request.callId) ?? null)
  for (const [id, attempt] of run.simulation.lost) {
    expect(rows.get(id)?.attempts, `${id}: refunded as lost, though a worker had begun it since`).to.equal(attempt)
  }
  checkOneCallAKey(run.requests, rows)
  checkReplays(run, rows, states)
}

/** The status of an answer: some errors have another one in other APIs than in the record. */
function statusFor({ dialect, error_type: error, http_status: recorded }: CallRow): number {
  if (error === null) return recorded
  return dialectOf(dialect).errors?.statusOf(error) ?? recorded
}

/** How a call that has ended is answered; that of embeddings is on its way, and sound is not kept. Null: not at all. */
function answerOf({ modality }: Asked, state: CallState | null | undefined): Answer | LongAnswer | null {
  if (state?.state === 'ended' || (modality === 'embedding' && state?.state === 'passing')) return state.answer
  return modality === 'speech' && state?.state === 'expired' ? GONE : null
}

function checkRequest(run: ScheduleRun, request: Request, row: CallRow | undefined, state: CallState | null): void {
  const { outcome, asked } = request
  const about = `${asked.modality} ${asked.prompt}`
  if (outcome.is === 'refused') return checkRefusal(run, request, outcome.code, row)
  if (!row) return
  if (row.deleted_at !== null) return checkDeleted(run, request, row, state)
  const answer = answerOf(asked, state)
  if (!answer) throw new Error(`${about}: ended without a result that can be fetched (${state?.state})`)
  if (outcome.is === 'answered') {
    expect(outcome.answer, `${about}: the answer that was given is the one that can be fetched`).to.deep.equal(answer)
    const status = answer === GONE ? GONE.status : statusFor(row)
    expect(outcome.answer.status, `${about}: the answer's status is the record's`).to.equal(status)
  }
  if (asked.modality === 'speech') checkSpeech(run, request, row)
  if (asked.modality === 'transcription') checkTranscript(request, row, answer)
  checkNotMissed(request, answer)
  if (row.http_status === statusOf('internal_error')) {
    expect(run.simulation.dispatch.givenUp.has(row.id), `${about}: ended by a defect`).to.equal(true)
  }
  checkCost(run, request, row)
  checkBill(run, request, row)
}

/** Deleted: nobody gets its result any more, and it was charged or refunded like every call. */
function checkDeleted(run: ScheduleRun, request: Request, row: CallRow, state: CallState | null): void {
  const about = `video ${request.asked.prompt}`
  expect(state?.state, `${about}: deleted, so its result is not kept`).to.equal('expired')
  checkCost(run, request, row)
  checkBill(run, request, row)
}

/** Refused: nothing was charged, or it was given back. */
function checkRefusal(
  { accounts, requests }: ScheduleRun,
  { asked }: Request,
  code: Parameters<typeof statusOf>[0],
  row: CallRow | undefined,
): void {
  const about = `${asked.modality} ${asked.prompt}`
  if (code === 'service_unavailable') {
    if (row) expect(row.status, `${about}: answered ${code}, so nothing may stay charged`).to.equal('failed')
    if (row?.http_status === statusOf(code))
      expect(row.started_at, `${about}: given back by its web process while a worker had it`).to.equal(null)
    return
  }
  // A refused request that joined has the id of another request's call.
  const isLimited = accounts.some(({ id, period }) => id === asked.account.id && period !== null)
  const isGone = ['embedding', 'speech'].includes(asked.modality) && asked.idempotencyKey !== null
  // The key of a video that somebody has deleted.
  const isOfDeleted = requests.some((one) => one.isDeleted && one.asked.idempotencyKey === asked.idempotencyKey)
  const known = [
    'insufficient_credits',
    'credits_in_use',
    'rate_limited',
    'unauthorized',
    ...(isLimited ? ['key_budget_exceeded', 'member_budget_exceeded'] : []),
    // Its answer has passed to those who waited for it.
    ...(isGone || isOfDeleted ? ['result_expired'] : []),
  ]
  expect(code, `${about}: refused`).to.be.oneOf(known)
  // What is gone is named by the id of the call that the request came back to; nothing else that is refused was opened.
  expect(row !== undefined, `${about}: refused with ${code}, and has a call`).to.equal(code === 'result_expired')
}

/** The price is that at the opening, the tokens are the upstream's, and a failure costs nothing. */
function checkCost({ simulation, prices }: ScheduleRun, request: Request, row: CallRow): void {
  const { asked } = request
  const manner = simulation.upstream.manners.get(asked.prompt)!
  if (row.status === 'failed')
    return void expect(row.credits, `${asked.prompt}: a failed call costs nothing`).to.equal(0)
  if (asked.idempotencyKey !== null) return
  const price = prices.get(request)!
  const paid = row.credits + row.credits_uncollected
  const about = `${asked.modality} ${asked.prompt}: collected and uncollected make the price`
  if (asked.modality !== 'chat') return void expect(paid, about).to.equal(dueFor(price, asked, row, manner))
  const own = ofModel(simulation, row)
  const chat = price[row.model as 'chat' | 'dear']
  if (isSettledByWeb(simulation, row)) {
    const delivered = tokensOf(own, request.received, null)
    return void expect(paid, `${about} of what was delivered before its worker was lost`).to.equal(
      dueForTokens(row, chat, delivered),
    )
  }
  const costs = [...costsOfTaken(simulation, request, own, chat)]
  // Chats end early that their client left, that their worker had to end, and that ran into their deadline.
  const mayBeCut =
    (asked.stream && (request.left || simulation.workers.some(({ isStopping }) => isStopping))) ||
    row.deadline_at! < row.finished_at!
  if (mayBeCut) return void expect(paid, `${about} of what its worker got`).to.be.oneOf(costs)
  const whole = tokensOf(own, wordsOf(manner).join(''), manner.long ? null : reportedBy(manner))
  expect(paid, about).to.equal(dueForTokens(row, chat, whole))
}

/** The row of a chat that names several models, with what is estimated of the one that it has in the end. */
function ofModel({ dispatch }: Simulation, row: CallRow): CallRow {
  const models = dispatch.modelsOf(row.id) ?? []
  expect(row.requested, `${row.id}: the model that was asked first`).to.equal(row.model === 'dear' ? 'chat' : null)
  const own = models.find(({ model }) => model === row.model)?.estimate
  return own ? { ...row, estimated_input_tokens: own.input, estimated_output_tokens: own.output } : row
}

/** Whether a call was settled by the web process that had sent its stream on. */
const isSettledByWeb = ({ webs, settledBy }: Simulation, { id }: CallRow): boolean =>
  webs.some(({ process }) => process === settledBy.get(id))

/** What each chat cost that the process which settled a call had sent for it: usually there is one. */
function costsOfTaken(simulation: Simulation, { asked }: Request, row: CallRow, price: Prices['chat']): Set<number> {
  const process = simulation.settledBy.get(row.id)
  const own = simulation.upstream.taken.filter((one) => one.process === process && one.prompt === asked.prompt)
  return new Set(own.map(({ words, usage }) => dueForTokens(row, price, tokensOf(row, words, usage))))
}

/** What the operator pays: all but chats at most once, and no success without an upstream's. */
function checkBill({ simulation }: ScheduleRun, { asked }: Request, row: CallRow): void {
  const bill = simulation.upstream.bills.get(asked.prompt)!
  const limit = asked.modality === 'chat' ? MAX_CHAT_SENDS * (asked.large ? 2 : 1) : 1
  expect(bill.accepted, `${asked.modality} ${asked.prompt}: accepted by its upstream too often`).to.be.at.most(limit)
  if (row.status === 'succeeded')
    expect(bill.produced, `${asked.prompt}: succeeded without a result of its upstream`).to.be.at.least(1)
}

/** A request with a key makes one call, however often it is sent. */
function checkOneCallAKey(requests: readonly Request[], rows: Map<CallId, CallRow>): void {
  const calls = new Map<string, Set<CallId>>()
  for (const { asked, callId } of requests) {
    const row = rows.get(callId)
    // A call that was refunded before it was enqueued frees its key.
    if (asked.idempotencyKey === null || !row || row.http_status === statusOf('service_unavailable')) continue
    const name = `${asked.account.id} ${asked.idempotencyKey}`
    calls.set(name, (calls.get(name) ?? new Set()).add(callId))
  }
  for (const [name, ids] of calls) expect(ids.size, `${name}: one key, one call`).to.equal(1)
}

/**
 * In the ledger: at most three entries a call and grant, none of an expired grant, and every balance that was answered.
 */
async function checkEntries(db: Db, ids: readonly AccountId[]): Promise<void> {
  const { rows: spentLate } = await db.raw<{ rows: object[] }>(
    `
    SELECT e.* FROM ledger_entries e JOIN grants g ON g.id = e.grant_id
    WHERE e.account_id = ANY (?::uuid[]) AND e.kind = 'charge'
      AND e.created_at > coalesce(g.revived_until, g.expires_at)`,
    [[...ids]],
  )
  expect(spentLate, `an expired grant paid: ${JSON.stringify(spentLate)}`).to.deep.equal([])
  const { rows: twice } = await db.raw<{ rows: object[] }>(
    `
    SELECT call_id, grant_id, count(*) FROM ledger_entries WHERE account_id = ANY (?::uuid[]) AND call_id IS NOT NULL
    GROUP BY call_id, grant_id HAVING count(*) > 2 OR count(*) FILTER (WHERE kind = 'charge') > 1`,
    [[...ids]],
  )
  expect(twice, `a call moved a grant more than twice: ${JSON.stringify(twice)}`).to.deep.equal([])
  const { rows: wrong } = await db.raw<{ rows: object[] }>(
    `
    SELECT c.id, c.balance_after, own.balance_after AS entry, last.balance_after AS last_entry FROM calls c
    JOIN LATERAL (
      SELECT * FROM ledger_entries WHERE call_id = c.id AND kind <> 'charge' ORDER BY seq DESC LIMIT 1) own ON true
    -- If the account has debt, the answered balance is that after the whole statement.
    JOIN LATERAL (
      SELECT balance_after FROM ledger_entries
      WHERE account_id = c.account_id AND created_at = own.created_at ORDER BY seq DESC LIMIT 1) last ON true
    WHERE c.account_id = ANY (?::uuid[]) AND c.balance_after NOT IN (own.balance_after, last.balance_after)`,
    [[...ids]],
  )
  // Only what settlements charged beyond their pre-charge may lie above a budget. What was used is the audit's.
  const { rows: overrun } = await db.raw<{ rows: object[] }>(
    `
    SELECT w.*, b.credits FROM budget_windows w JOIN budgets b ON b.id = w.budget_id
    WHERE b.account_id = ANY (?::uuid[]) AND w.used > b.credits + (
      SELECT coalesce(sum(greatest(0, c.credits + c.credits_uncollected - c.credits_precharged)), 0) FROM calls c
      WHERE (c.key_id = b.key_id OR c.account_id = b.account_id AND c.user_id = b.user_id)
        AND budget_window(b.period, c.created_at) = w.starts_at)`,
    [[...ids]],
  )
  expect(overrun, `a budget was overrun: ${JSON.stringify(overrun)}`).to.deep.equal([])
  expect(wrong, `the balance of an answer is not that of its last entry: ${JSON.stringify(wrong)}`).to.deep.equal([])
}

/** A client that got no answer asks again with its key: it gets the answer, or opens a call only now. */
function checkReplays({ requests }: ScheduleRun, rows: Map<CallId, CallRow>, states: States): void {
  for (const { asked, callId } of requests) {
    if (asked.idempotencyKey === null || !states.has(callId) || rows.get(callId)?.deleted_at) continue
    expect(answerOf(asked, states.get(callId)), `${asked.prompt}: its answer can be had by its key`).to.not.equal(null)
  }
}

/** An account never has more open calls than it may. Also checked during a schedule. */
export async function checkOutstanding({ db, accounts }: Pick<ScheduleRun, 'db' | 'accounts'>): Promise<void> {
  const rows = await db('accounts')
    .whereIn(
      'id',
      accounts.map(({ id }) => id),
    )
    .where('outstanding_calls', '>', MAX_OUTSTANDING)
    .select('id', 'outstanding_calls')
  expect(rows, 'more calls are open than an account may have').to.deep.equal([])
}
