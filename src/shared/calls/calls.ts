/**
 * The verbs of a call: the only code that writes a call's status or moves credits for one. Web, workers, reconciler and
 * the admin command all call these. What each may do is the table in `lifecycle.ts`; how it is done in one statement is
 * in `sql/open_calls.sql` and `sql/end_calls.sql`.
 *
 * Every verb is guarded and safe to repeat: zero rows mean that another process already did it, which is no error.
 */
import { randomUUID } from 'node:crypto'
import { allowancesOf } from '../identity/account-limits.ts'
import { batched } from '../platform/postgres/batcher.ts'
import type { Db } from '../platform/postgres/db.ts'
import { isContention, isUnreachable, retryWhileUnreachable, connectDb } from '../platform/postgres/db.ts'
import type { GatewayError } from '../platform/errors.ts'
import { SUCCESS, statusOf } from '../platform/errors.ts'
import type { CallId } from '../platform/ids.ts'
import { failpoint } from '../platform/process/failpoints.ts'
import { EXPIRED, answerOf, errorOutput, passingAnswerOf } from './stored-answers.ts'
import type { Answer, EndedCall, LongAnswer } from './stored-answers.ts'
import type { ListedModel } from './listed-models.ts'
import { moveToModel } from './listed-models.ts'
import type { CallAttempt } from './leases.ts'
import { findStale, leaseOf, releaseLease, renewLeases } from './leases.ts'
import { QUEUED_LEASE_SECONDS, RENEW_LEASES_MS, RUNNING_LEASE_SECONDS } from '../terms/lifecycle.ts'
import type { Modality } from '../terms/kinds.ts'
import type { Tokens } from '../terms/pricing.ts'
import { allInput } from '../terms/pricing.ts'
import type { AccountLimits, Begin, EndedRow, OpenRow, OutcomeRow, CallsObserver } from './statements.ts'
import { beginCalls, endCalls, openCalls } from './statements.ts'
import type { Tried } from './tries.ts'
import type {
  BegunCall,
  Ended,
  KnownTask,
  OpenOutcome,
  OpenRequest,
  RefundGuard,
  Settlement,
  StaleCall,
  StoredSettlement,
} from './types.ts'
import { isRefusal } from './types.ts'
import type { Config } from '../platform/config/config.ts'

/** How long a worker tries to write an outcome while Postgres is down, in ms; then the reconciler takes over. */
const OUTCOME_PATIENCE_MS = 120_000

/** The same for a request that opens a call: after that its client gets a 503. */
const OPEN_PATIENCE_MS = 2000

/** How much longer than the pause between two polls a task needs no run, in seconds. */
const POLL_LEASE_MARGIN_SECONDS = 20

/** An error of the connection or of concurrent transactions, not of one call in the batch. */
const isTransient = (error: unknown): boolean => isUnreachable(error) || isContention(error)

/** `resultSeconds`: how long results are stored; the rest bounds what one account has open. */
export type CallLimits = AccountLimits & { resultSeconds: number }

/** The verbs over one pool. */
export class Calls {
  private readonly db: Db
  private readonly limits: CallLimits
  private readonly observer: CallsObserver | undefined
  private readonly openTogether: (request: OpenRequest) => Promise<OpenRow>
  private readonly beginTogether: (begin: Begin) => Promise<BegunCall | null>
  private readonly endTogether: (item: { row: OutcomeRow; output: string }) => Promise<EndedRow | null>

  /** @param observer measures what this process does. */
  constructor(db: Db, limits: CallLimits, observer?: CallsObserver) {
    this.db = db
    this.limits = limits
    this.observer = observer
    this.openTogether = batched((requests) => {
      observer?.batch('open', requests.length)
      return openCalls(db, requests, limits)
    }, isTransient)
    this.beginTogether = batched((begins) => beginCalls(db, begins), isTransient)
    this.endTogether = batched((items) => {
      observer?.batch('end', items.length)
      return endCalls(db, items)
    }, isTransient)
  }

  /**
   * Charges and opens a call. Safe to repeat with the same id: an answer lost on the way is found by that id.
   * @throws when Postgres cannot be reached; the call is then open or not, and the reconciler refunds it if it is.
   */
  async open(request: OpenRequest): Promise<OpenOutcome> {
    failpoint('call.opening', request.id)
    const startedAt = performance.now()
    const outcome = outcomeOf(request, await retryWhileUnreachable(OPEN_PATIENCE_MS, () => this.openTogether(request)))
    if (!outcome.opened) return outcome
    failpoint('call.opened', request.id)
    this.observer?.opened(request, performance.now() - startedAt)
    return outcome
  }

  /**
   * Gives a call to a run, before anything is asked of an upstream: one that is queued, one that no run has between two
   * polls of its task (in the same attempt), or one whose run has let its lease pass. At least two thirds of the lease
   * remain when this returns.
   * @param run names the run: repeated with it after a lost acknowledgement, this returns the same attempt.
   * @param isFlushed false if a crash of Postgres may lose the begin, because the call may be resent.
   * @returns null if the call has ended, or another run has it.
   */
  async begin(id: CallId, run: string = randomUUID(), isFlushed = true): Promise<BegunCall | null> {
    failpoint('call.beginning', id)
    let call: BegunCall | null
    let sentAt: number
    do {
      sentAt = performance.now()
      call = await this.beginTogether({ id, run, isFlushed })
    } while (call && performance.now() - sentAt > RENEW_LEASES_MS)
    if (!call) return null
    failpoint('call.begun', id)
    if (call.attempt === 1) this.observer?.begun(call.modality, call.waitedMs)
    return call
  }

  /**
   * Persists the upstream's task before the first poll.
   * @param nextPollMs when it is to be polled next, in ms, if another run does that: until then, and
   * POLL_LEASE_MARGIN_SECONDS longer, no run has the call, and the reconciler does not touch it.
   * @returns false if the call has ended or another attempt owns it: stop working.
   */
  async submitted(
    id: CallId,
    attempt: number,
    { upstream, upstreamKey = null, ref, costMicroUsd = null, progress = null }: KnownTask,
    nextPollMs?: number,
  ): Promise<boolean> {
    failpoint('task.persisting', id)
    const changed = await retryWhileUnreachable(OUTCOME_PATIENCE_MS, () =>
      this.db('calls')
        .where({ id, attempts: attempt, status: 'running' })
        .update({
          upstream,
          upstream_key: upstreamKey,
          upstream_ref: JSON.stringify(ref),
          cost_micro_usd: costMicroUsd,
          // Null changes nothing.
          progress: this.db.raw('greatest(progress, ?::smallint)', [progress]),
          ...(nextPollMs === undefined
            ? { lease_until: this.fromNow(RUNNING_LEASE_SECONDS) }
            : { lease_until: this.fromNow(nextPollMs / 1000 + POLL_LEASE_MARGIN_SECONDS), started_by: null }),
        }),
    )
    failpoint('task.persisted', id)
    return changed === 1
  }

  /** Requeues a call that this attempt has certainly not sent: the attempt does not count. */
  async requeue(id: CallId, attempt: number): Promise<void> {
    failpoint('call.requeuing', id)
    await this.db('calls')
      .where({ id, attempts: attempt, status: 'running' })
      .update({
        status: 'queued',
        attempts: attempt - 1,
        started_at: null,
        started_by: null,
        lease_until: this.fromNow(QUEUED_LEASE_SECONDS),
      })
    failpoint('call.requeued', id)
  }

  /** See `leaseOf`. */
  leaseOf = (id: CallId): Promise<number | null> => leaseOf(this.db, id)

  /** See `releaseLease`. */
  release = (id: CallId, attempt: number): Promise<void> => releaseLease(this.db, id, attempt)

  /** See `renewLeases`. */
  renew = (attempts: readonly CallAttempt[], seconds: number): Promise<CallId[]> =>
    renewLeases(this.db, attempts, seconds)

  /** See `moveToModel`. */
  moveToModel = (attempt: CallAttempt, to: ListedModel): Promise<boolean> => moveToModel(this.db, attempt, to)

  /** See `findStale`. */
  findStale = (limit: number): Promise<StaleCall[]> => findStale(this.db, limit)

  /** Ends a call with its result at its real cost; null when it had ended before. */
  settle(id: CallId, modality: Modality, settlement: StoredSettlement): Promise<Ended | null>
  settle(id: CallId, modality: Modality, settlement: Settlement): Promise<Ended<Answer | LongAnswer> | null>
  settle(id: CallId, modality: Modality, settlement: Settlement): Promise<Ended<Answer | LongAnswer> | null> {
    const { passingBytes, output } = settlement
    return this.end(
      {
        id,
        status: 'succeeded',
        cost: settlement.cost,
        http_status: SUCCESS,
        upstream: settlement.upstream ?? undefined,
        ...triedOf(settlement),
        ...countsOf(settlement.tokens),
        cost_micro_usd: settlement.costMicroUsd ?? undefined,
        result_url: settlement.resultUrl,
        more_result_urls: settlement.moreResultUrls?.length ? settlement.moreResultUrls : undefined,
        pictures: settlement.pictures,
        size: settlement.came?.size,
        quality: settlement.came?.quality,
        result_seconds: this.limits.resultSeconds,
      },
      output,
      (ended) => ({
        callId: id,
        status: 'succeeded',
        modality,
        dialect: ended.dialect,
        httpStatus: SUCCESS,
        credits: ended.credits,
        balanceAfter: ended.balance,
        latencyMs: ended.latency_ms,
      }),
      OUTCOME_PATIENCE_MS,
      (shown) => {
        if (passingBytes !== undefined) return passingAnswerOf(shown, passingBytes)
        return output === '' ? EXPIRED : answerOf(shown, output)
      },
    )
  }

  /**
   * Ends a call with its failure and gives every credit back to the grant it came from; null when it had ended before.
   */
  refund(
    id: CallId,
    error: GatewayError,
    guard: RefundGuard = {},
    patienceMs = OUTCOME_PATIENCE_MS,
  ): Promise<Ended | null> {
    const output = errorOutput(error)
    return this.end(
      {
        id,
        status: 'failed',
        http_status: statusOf(error.type),
        error_type: error.type,
        cost_micro_usd: guard.costMicroUsd ?? undefined,
        upstream: guard.upstream ?? undefined,
        ...triedOf(guard),
        attempt: guard.attempt,
        overdue: guard.overdue,
        reconciled: guard.reconciled,
        result_seconds: this.limits.resultSeconds,
      },
      output,
      ({ dialect }) => ({
        status: 'failed',
        dialect,
        callId: id,
        errorType: error.type,
        httpStatus: statusOf(error.type),
      }),
      patienceMs,
      (shown) => answerOf(shown, output),
    )
  }

  /**
   * Records that the client went away without an answer, so that its retry can join the call. Keeps trying as long as
   * for an outcome: a retry that does not find the call would pay again.
   */
  async markAbandoned(id: CallId): Promise<void> {
    await retryWhileUnreachable(OUTCOME_PATIENCE_MS, () =>
      this.db('calls').where({ id }).whereNull('abandoned_at').update({ abandoned_at: this.db.fn.now() }),
    )
  }

  private async end<A extends Answer | LongAnswer>(
    row: OutcomeRow,
    output: string,
    shown: (ended: EndedRow) => EndedCall,
    patienceMs: number,
    answer: (shown: EndedCall) => A,
  ): Promise<Ended<A> | null> {
    failpoint(row.status === 'succeeded' ? 'call.settling' : 'call.refunding', row.id)
    const startedAt = performance.now()
    const ended = await retryWhileUnreachable(patienceMs, () => this.endTogether({ row, output }))
    if (!ended) return null
    failpoint(row.status === 'succeeded' ? 'call.settled' : 'call.refunded', row.id)
    const tokens = { input: row.input_tokens ?? 0, output: row.output_tokens ?? 0 }
    this.observer?.ended(ended, performance.now() - startedAt, tokens)
    return {
      callId: ended.id,
      accountId: ended.account_id,
      replyTo: ended.reply_to,
      status: ended.status,
      balance: ended.balance,
      answer: answer(shown(ended)),
    }
  }

  private fromNow(seconds: number) {
    return this.db.raw('now() + make_interval(secs => ?)', [seconds])
  }
}

const triedOf = ({ upstreamKey, tries, session }: Tried) => ({ upstream_key: upstreamKey ?? undefined, tries, session })

const countsOf = (tokens: Tokens | null) =>
  tokens && {
    input_tokens: allInput(tokens),
    cached_input_tokens: tokens.cached ?? 0,
    cache_write_tokens: tokens.written ?? 0,
    repeated_input_tokens: tokens.inputAgain,
    output_tokens: tokens.output,
  }

function outcomeOf(request: OpenRequest, row: OpenRow): OpenOutcome {
  const { balance, outstanding } = row
  const tokens = allowancesOf(row)
  switch (row.outcome) {
    case 'opened':
      return { opened: true, balance, outstanding, tokens }
    case 'exists':
      // Our own id: an earlier try of this statement had committed, and only its acknowledgement was lost.
      return row.existing_id === request.id
        ? { opened: true, balance, outstanding, tokens }
        : { opened: false, existing: row.existing_id! }
    case 'claimed':
      return { opened: false, claimed: row.existing_id! }
    default:
      if (!isRefusal(row.outcome)) throw new Error(`open_calls answered ${row.outcome}`)
      return { opened: false, refusal: row.outcome, tokens }
  }
}

/** The verbs of calls over a new pool. @param observer measures them. */
export function openDatabase(config: Config, observer?: CallsObserver) {
  const db = connectDb(config)
  const calls = new Calls(
    db,
    { resultSeconds: config.RESULT_TTL_SECONDS, maxOutstanding: config.MAX_OUTSTANDING_CALLS },
    observer,
  )
  return { db, calls }
}
