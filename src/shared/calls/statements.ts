/**
 * The statements of a call's path, for a batch at a time: `open_calls` and `end_calls` (see `sql/`), which move
 * credits, and the begin between them.
 */
import type { AllowanceColumns } from '../identity/account-limits.ts'
import type { Db } from '../platform/postgres/db.ts'
import { plainArray, runPrepared, textArray } from '../platform/postgres/batcher.ts'
import type { ErrorCode } from '../platform/errors.ts'
import type { AccountId, CallId } from '../platform/ids.ts'
import type { Dialect } from '../chat/dialect.ts'
import type { Modality } from '../terms/kinds.ts'
import { reservedTokens } from '../terms/pricing.ts'
import type { CallTry, SessionUse } from './tries.ts'
import type { BegunCall, OpenRequest } from './types.ts'
import { priceVersionOf } from '../terms/price-versions.ts'
import { MAX_REQUEST_BYTES, QUEUED_LEASE_SECONDS, RUNNING_LEASE_SECONDS } from '../terms/lifecycle.ts'

/** How a call ends, as `end_calls` reads it. */
export type OutcomeRow = {
  id: CallId
  status: 'succeeded' | 'failed'
  cost?: number
  attempt?: number
  overdue?: boolean
  /** By the reconciler: operators are notified. */
  reconciled?: boolean
  http_status: number
  error_type?: ErrorCode
  input_tokens?: number
  cached_input_tokens?: number
  cache_write_tokens?: number
  repeated_input_tokens?: number
  output_tokens?: number
  /** Absent: unknown. */
  cost_micro_usd?: number
  upstream?: string
  upstream_key?: string
  tries?: readonly CallTry[] | undefined
  session?: SessionUse | undefined
  result_url?: string | null
  more_result_urls?: readonly string[] | undefined
  pictures?: number | undefined
  size?: string | undefined
  quality?: string | undefined
  result_seconds: number
}

/** A call that this very statement ended. */
export type EndedRow = {
  id: CallId
  account_id: AccountId
  status: 'succeeded' | 'failed'
  credits: number
  uncollected: number
  balance: number
  latency_ms: number
  created_at: Date
  reply_to: string
  model: string
  modality: Modality
  upstream: string | null
  /** Credits that its charge took. */
  precharged: number
  /** Since it was begun; null when it never was. */
  running_ms: number | null
  /** In which it was asked, where that is not chat completions. */
  dialect: Dialect | null
}

/** The outcome of one request, as `open_calls` returns it. */
export type OpenRow = AllowanceColumns & {
  id: CallId
  outcome: string
  existing_id: CallId | null
  balance: number
  outstanding: number
}

/**
 * What one account may have at once: `maxOutstanding` open calls, with requests of `maxRequestBytes` bytes (64 MB
 * unless given).
 */
export type AccountLimits = { maxOutstanding: number; maxRequestBytes?: number }

const OPEN = { name: 'open_calls', text: 'SELECT * FROM open_calls($1::jsonb, $2, $3)' }
const END = { name: 'end_calls', text: 'SELECT * FROM end_calls($1::jsonb, $2)' }

/** Opens calls; a row for each, in the order of the requests. */
export async function openCalls(db: Db, requests: OpenRequest[], limits: AccountLimits): Promise<OpenRow[]> {
  const { maxOutstanding, maxRequestBytes = MAX_REQUEST_BYTES } = limits
  const rows = await runPrepared<OpenRow>(db, OPEN, [
    JSON.stringify(requests.map(rowOf)),
    maxOutstanding,
    maxRequestBytes,
  ])
  const byId = new Map(rows.map((row) => [row.id, row]))
  return requests.map((request) => byId.get(request.id)!)
}

/** A request as `open_calls` reads it. */
function rowOf(request: OpenRequest) {
  const version = priceVersionOf(request.model, request.price)
  return {
    id: request.id,
    account_id: request.accountId,
    key_id: request.keyId,
    modality: request.modality,
    dialect: request.dialect,
    model: request.model,
    price: request.price,
    price_version: version.id,
    price_hash: version.hash,
    catalogue_version: request.catalogueVersion,
    amount: request.amount,
    leaves: request.leaves,
    guarded: request.guarded,
    estimated_input: request.estimate?.input,
    estimated_output: request.estimate?.output,
    reserved_tokens: reservedTokens(request.estimate),
    lease_seconds: QUEUED_LEASE_SECONDS,
    deadline_seconds: request.deadlineSeconds,
    request_id: request.requestId,
    reply_to: request.replyTo,
    idempotency_key: request.idempotency?.key,
    idempotency_seconds: request.idempotency?.seconds,
    request_hash: request.requestHash && `\\x${request.requestHash}`,
    joins_left: request.joinsLeft,
    request_bytes: request.requestBytes,
    secret_version: request.secretVersion,
    address: request.address,
    is_async: request.isAsync,
    callback_url: request.callbackUrl,
    group_name: request.group,
    most_open: request.maxOutstanding,
    seconds: request.measured?.duration,
    resolution: request.measured?.resolution,
    units: request.measured?.units,
    size: request.measured?.size,
    quality: request.measured?.quality,
  }
}

/** Ends calls; null for each that had ended before. */
export async function endCalls(db: Db, items: { row: OutcomeRow; output: string }[]): Promise<(EndedRow | null)[]> {
  const rows = await runPrepared<EndedRow & { place: number }>(db, END, [
    JSON.stringify(items.map(({ row }) => row)),
    textArray(items.map(({ output }) => output)),
  ])
  const ended = new Map(rows.map(({ place, ...row }) => [place, row]))
  return items.map((_, index) => ended.get(index + 1) ?? null)
}

/** A call to begin, the name of the run that begins it, and whether Postgres must not lose the begin if it crashes. */
export type Begin = { id: CallId; run: string; isFlushed: boolean }

/**
 * Begins calls; null, and the row unchanged, for each that has ended or that another run has. The commit is flushed if
 * one of them needs it (docs/architecture.md#begin).
 */
export async function beginCalls(db: Db, begins: Begin[]): Promise<(BegunCall | null)[]> {
  const ids = begins.map(({ id }) => id)
  const sorted = ids.toSorted()
  const rows = await runPrepared<BegunCall>(db, BEGIN, [
    plainArray(ids),
    plainArray(begins.map(({ run }) => run)),
    RUNNING_LEASE_SECONDS,
    begins.some(({ isFlushed }) => isFlushed),
    sorted[0],
    sorted.at(-1),
  ])
  const begun = new Map(rows.map((row) => [row.run, row]))
  return begins.map(({ run }) => begun.get(run) ?? null)
}

const BEGIN = {
  name: 'begin_calls',
  text: `
    SELECT id, account_id AS "accountId", model, modality, price, credits_precharged AS charged,
      json_build_object('input', coalesce(estimated_input_tokens, 0), 'output', coalesce(estimated_output_tokens, 0))
        AS estimate,
      cost_micro_usd AS "costMicroUsd", attempts AS attempt, started_at AS "startedAt", started_by AS run, upstream,
      upstream_key AS "upstreamKey", upstream_ref AS "upstreamRef", reply_to AS "replyTo",
      attempts > 1 OR upstream_ref IS NOT NULL AS resumed,
      deleted_at IS NOT NULL AS "isDeleted",
      (extract(epoch FROM started_at - created_at) * 1000)::bigint AS "waitedMs",
      (extract(epoch FROM deadline_at - now()) * 1000)::bigint AS "remainingMs"
    FROM begin_calls($1, $2, $3, $4, $5, $6)`,
}

/** The tokens of a call that has ended, as its row has them; 0 if there are none. */
type EndedTokens = { input: number; output: number }

/** What is reported of each verb that changed a call, once it has committed. */
export type CallsObserver = {
  /** How many calls one statement opened or ended. */
  batch: (verb: 'open' | 'end', size: number) => void
  /** A call was charged and opened, which took `ms`. */
  opened: (request: OpenRequest, ms: number) => void
  /** A worker has taken a call for the first time, `waitedMs` after its acceptance by the database's clock. */
  begun: (modality: Modality, waitedMs: number) => void
  /** A call has ended, and writing that took `ms`. */
  ended: (call: EndedRow, ms: number, tokens: EndedTokens) => void
}
