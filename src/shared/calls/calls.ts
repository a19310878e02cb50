/**
 * The verbs of a call: the only code that writes a call's status or moves credits for one. Web, workers, reconciler
 * and the admin command all call these. What each may do is the table in `lifecycle.ts`; how it is done in one statement
 * stands in migration 003.
 *
 * Every verb is guarded and safe to repeat: zero rows mean that somebody else did it, which is no error.
 */
import type { Db } from '../db.ts'
import { isUnreachable, isContention, untilAnswered } from '../db.ts'
import type { AccountId, CallId, KeyId } from '../ids.ts'
import type { ErrorCode, GatewayError } from '../errors.ts'
import { statusOf } from '../errors.ts'
import type { Answer } from './answers.ts'
import { answerOf, errorOutput } from './answers.ts'
import { batched } from './batcher.ts'
import { DEADLINE_GRACE_SECONDS, QUEUED_LEASE_SECONDS, RUNNING_LEASE_SECONDS } from './lifecycle.ts'
import type { CallStatus, Modality } from './lifecycle.ts'
import type { Price, Tokens } from './pricing.ts'

/** What `open` needs to know. All amounts in credits, all times in whole seconds. */
export type OpenRequest = {
  id: CallId
  accountId: AccountId
  keyId: KeyId
  modality: Modality
  model: string
  price: Price
  /** The charge. */
  amount: number
  /** The tokens the charge was estimated from (chat). */
  estimate: Tokens | null
  deadlineSeconds: number
  requestId: string
  /** The web process that waits. */
  replyTo: string
  idempotency: { key: string; seconds: number } | null
  /** SHA-256 of the request in hex, where a retry may have to be recognised. */
  requestHash: string | null
}

/** Why a call was not opened, as the error code its client meets; or the call that was there before it. */
export type OpenOutcome =
  | { opened: true; balance: number; outstanding: number }
  | { opened: false; existing: CallId }
  | { opened: false; refusal: 'unauthorized' | 'account_suspended' | 'insufficient_credits' | 'too_many_calls' }

/** What a worker learns when it begins a call. */
export type BegunCall = {
  id: CallId
  accountId: AccountId
  model: string
  modality: Modality
  price: Price
  estimate: Tokens
  /** Counts from 1; the fence of `refund` and `submitted`. */
  attempt: number
  /** An attempt before this one may have sent its request: the fate of that request is unknown. */
  resumed: boolean
  upstream: string | null
  upstreamRef: UpstreamRef | null
  replyTo: string
  /** Milliseconds until the deadline, by the database's clock; negative beyond it. */
  remainingMs: number
}

/** An upstream's own task: JSON that its adapter wrote and can go on from. */
export type UpstreamRef = Record<string, unknown>

/** A call that this verb ended, and the answer that everybody gets. */
export type Ended = { callId: CallId; accountId: AccountId; replyTo: string; status: CallStatus; balance: number; answer: Answer }

/** What a successful call produced. */
export type Settlement = {
  /** The real cost in credits. */
  cost: number
  tokens: Tokens | null
  upstream: string
  resultUrl: string | null
  /** See `answers.ts`. */
  output: string
}

/** Which open calls a refund may touch; a call outside of these is left alone. */
export type RefundGuard = {
  /** Only while this attempt is the newest: a frozen worker must not refund what another is about to finish. */
  attempt?: number
  /** Only while it is in this status. */
  from?: 'queued' | 'running'
  /** Only past its deadline. */
  overdue?: boolean
}

type OutcomeRow = {
  id: CallId; status: 'succeeded' | 'failed'; cost?: number; attempt?: number; from_status?: string; overdue?: boolean
  http_status: number; error_type?: ErrorCode; input_tokens?: number; output_tokens?: number; upstream?: string
  result_url?: string | null; result_seconds: number
}

type EndedRow = {
  id: CallId; user_id: AccountId; status: 'succeeded' | 'failed'; credits: number; uncollected: number; balance: number
  latency_ms: number; created_at: Date; reply_to: string
}

/** How long a worker keeps trying to write an outcome while Postgres is away; the reconciler has the rest. */
const OUTCOME_PATIENCE_MS = 120_000

/** How long an opening request does: longer, and its client had better hear a 503. */
const OPEN_PATIENCE_MS = 2000

/** An error of the connection or of neighbours, not of one call in the batch. */
const isNobodysFault = (error: unknown) => isUnreachable(error) || isContention(error)

export type Calls = ReturnType<typeof createCalls>

/** The verbs over one pool. `resultSeconds`: how long results are kept; `maxOutstanding`: open calls of one account. */
export function createCalls(db: Db, limits: { resultSeconds: number; maxOutstanding: number }) {
  const openBatch = batched(
    (requests: OpenRequest[]) => openCalls(db, requests, limits.maxOutstanding), isNobodysFault)
  const endBatch = batched(
    (items: { row: OutcomeRow; output: string }[]) => endCalls(db, items), isNobodysFault)

  async function end(row: OutcomeRow, output: string, modality: Modality, patienceMs: number): Promise<Ended | null> {
    const ended = await untilAnswered(patienceMs, () => endBatch({ row, output }))
    if (!ended) return null
    const answer = answerOf({
      modality, status: ended.status, httpStatus: row.http_status, credits: ended.credits,
      balanceAfter: ended.balance, latencyMs: ended.latency_ms,
    }, output)
    return { callId: ended.id, accountId: ended.user_id, replyTo: ended.reply_to, status: ended.status, balance: ended.balance, answer }
  }

  return {
    /**
     * Charges and opens a call. Safe to repeat with the same id: an answer lost on the way is found by that id.
     * @throws when Postgres cannot be reached; the call is then open or not, and the reconciler refunds it if it is.
     */
    async open(request: OpenRequest): Promise<OpenOutcome> {
      return untilAnswered(OPEN_PATIENCE_MS, async () => {
        const together = await openBatch(request)
        const outcome = together.outcome === 'try_alone' ? (await openCalls(db, [request], limits.maxOutstanding))[0]! : together
        return outcomeOf(request, outcome)
      })
    },

    /** Takes a call to work on it; null when it has ended (a job that ran twice, or came late). */
    async begin(id: CallId): Promise<BegunCall | null> {
      const { rows } = await db.raw<{ rows: BegunRow[] }>(`
        UPDATE calls SET status = 'running', attempts = attempts + 1, started_at = coalesce(started_at, now()),
          lease_until = now() + make_interval(secs => ?)
        WHERE id = ? AND status IN ('queued', 'running')
        RETURNING id, user_id, model, modality, price, estimated_input_tokens, estimated_output_tokens, attempts,
          started_at < now() AS resumed, upstream, upstream_ref, reply_to,
          (extract(epoch FROM deadline_at - now()) * 1000)::bigint AS remaining_ms`, [RUNNING_LEASE_SECONDS, id])
      return rows[0] ? begun(rows[0]) : null
    },

    /**
     * Persists the upstream's task before the first poll, and keeps the lease while it is being polled.
     * @returns false when the call has ended or another attempt has it: stop working.
     */
    async submitted(id: CallId, attempt: number, upstream: string, ref: UpstreamRef, leaseSeconds: number): Promise<boolean> {
      const changed = await untilAnswered(OUTCOME_PATIENCE_MS, () => db('calls')
        .where({ id, attempts: attempt, status: 'running' })
        .update({ upstream, upstream_ref: JSON.stringify(ref), lease_until: secondsFromNow(db, leaseSeconds) }))
      return changed === 1
    },

    /** Hands a call back of which certainly nothing was sent, so that the next attempt is not taken for a second one. */
    async handBack(id: CallId, attempt: number): Promise<void> {
      await db('calls').where({ id, attempts: attempt, status: 'running' })
        .update({ status: 'queued', started_at: null, lease_until: secondsFromNow(db, QUEUED_LEASE_SECONDS) })
    },

    /** Keeps the leases of calls that are being worked on. */
    async renew(ids: readonly CallId[], leaseSeconds: number = RUNNING_LEASE_SECONDS): Promise<void> {
      if (ids.length === 0) return
      await db('calls').whereIn('id', [...ids]).whereIn('status', ['queued', 'running'])
        .update({ lease_until: secondsFromNow(db, leaseSeconds) })
    },

    /** Ends a call with its result at its real cost; null when it had ended before. */
    settle(id: CallId, modality: Modality, settlement: Settlement): Promise<Ended | null> {
      return end({
        id, status: 'succeeded', cost: settlement.cost, http_status: 200, upstream: settlement.upstream,
        input_tokens: settlement.tokens?.input, output_tokens: settlement.tokens?.output,
        result_url: settlement.resultUrl, result_seconds: limits.resultSeconds,
      }, settlement.output, modality, OUTCOME_PATIENCE_MS)
    },

    /** Ends a call with its failure and gives every credit back to the grant it came from; null when it had ended before. */
    refund(id: CallId, error: GatewayError, guard: RefundGuard = {}, patienceMs = OUTCOME_PATIENCE_MS): Promise<Ended | null> {
      return end({
        id, status: 'failed', http_status: statusOf(error.type), error_type: error.type, attempt: guard.attempt,
        from_status: guard.from, overdue: guard.overdue, result_seconds: limits.resultSeconds,
      }, errorOutput(error), 'chat', patienceMs)
    },

    /** Notes that the waiting client went away unanswered, so that a retry of it can join the call. */
    async requesterLeft(id: CallId): Promise<void> {
      await db('calls').where({ id }).whereNull('requester_left_at').update({ requester_left_at: db.fn.now() })
    },

    /** Open calls whose lease has run out, longest first: the reconciler's work. */
    async findStale(limit: number): Promise<StaleCall[]> {
      const { rows } = await db.raw<{ rows: StaleRow[] }>(`
        SELECT id, modality, model, status, attempts, upstream_ref IS NOT NULL AS submitted,
          deadline_at + make_interval(secs => ?) < now() AS overdue
        FROM calls WHERE status IN ('queued', 'running') AND lease_until < now()
        ORDER BY lease_until LIMIT ?`, [DEADLINE_GRACE_SECONDS, limit])
      return rows.map((row) => ({ ...row, attempt: row.attempts }))
    },
  }
}

type StaleRow = { id: CallId; modality: Modality; model: string; status: 'queued' | 'running'; attempts: number; submitted: boolean; overdue: boolean }

/** An open call that nobody seems to look after. */
export type StaleCall = Omit<StaleRow, 'attempts'> & { attempt: number }

const secondsFromNow = (db: Db, seconds: number) => db.raw('now() + make_interval(secs => ?)', [seconds])

type BegunRow = {
  id: CallId; user_id: AccountId; model: string; modality: Modality; price: Price; estimated_input_tokens: number | null
  estimated_output_tokens: number | null; attempts: number; resumed: boolean; upstream: string | null
  upstream_ref: UpstreamRef | null; reply_to: string; remaining_ms: number
}

const begun = (row: BegunRow): BegunCall => ({
  id: row.id, accountId: row.user_id, model: row.model, modality: row.modality, price: row.price,
  estimate: { input: row.estimated_input_tokens ?? 0, output: row.estimated_output_tokens ?? 0 },
  attempt: row.attempts, resumed: row.resumed, upstream: row.upstream, upstreamRef: row.upstream_ref,
  replyTo: row.reply_to, remainingMs: row.remaining_ms,
})

type OpenRow = { id: CallId; outcome: string; existing_id: CallId | null; balance: number; outstanding: number }

function outcomeOf(request: OpenRequest, row: OpenRow): OpenOutcome {
  switch (row.outcome) {
    case 'opened':
      return { opened: true, balance: row.balance, outstanding: row.outstanding }
    case 'exists':
      // Our own id: an earlier try of this very statement had committed, and only its answer was lost.
      return row.existing_id === request.id
        ? { opened: true, balance: row.balance, outstanding: row.outstanding }
        : { opened: false, existing: row.existing_id! }
    case 'unauthorized':
    case 'account_suspended':
    case 'insufficient_credits':
    case 'too_many_calls':
      return { opened: false, refusal: row.outcome }
    default:
      throw new Error(`open_calls answered ${row.outcome}`)
  }
}

async function openCalls(db: Db, requests: OpenRequest[], maxOutstanding: number): Promise<OpenRow[]> {
  const parameter = JSON.stringify(requests.map((request) => ({
    id: request.id, user_id: request.accountId, key_id: request.keyId, modality: request.modality, model: request.model,
    price: request.price, amount: request.amount, estimated_input: request.estimate?.input,
    estimated_output: request.estimate?.output, lease_seconds: QUEUED_LEASE_SECONDS, deadline_seconds: request.deadlineSeconds,
    request_id: request.requestId, reply_to: request.replyTo, idempotency_key: request.idempotency?.key,
    idempotency_seconds: request.idempotency?.seconds, request_hash: request.requestHash,
  })))
  const { rows } = await db.raw<{ rows: OpenRow[] }>('SELECT * FROM open_calls(?::jsonb, ?)', [parameter, maxOutstanding])
    .options({ name: 'open_calls' })
  return inOrderOf(requests, rows)
}

async function endCalls(db: Db, items: { row: OutcomeRow; output: string }[]): Promise<(EndedRow | null)[]> {
  const { rows } = await db.raw<{ rows: EndedRow[] }>('SELECT * FROM end_calls(?::jsonb, ?::text[])',
    [JSON.stringify(items.map((item) => item.row)), items.map((item) => item.output)]).options({ name: 'end_calls' })
  const ended = new Map(rows.map((row) => [row.id, row]))
  return items.map(({ row }) => {
    const mine = ended.get(row.id) ?? null
    // One call twice in one batch: only the first ended it.
    ended.delete(row.id)
    return mine
  })
}

function inOrderOf(requests: OpenRequest[], rows: OpenRow[]): OpenRow[] {
  const byId = new Map(rows.map((row) => [row.id, row]))
  return requests.map((request) => byId.get(request.id)!)
}
