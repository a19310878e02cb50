/** Reading calls: the answer of one for clients that fetch it, and the record of one for operators. */
import type { Db } from '../platform/postgres/db.ts'
import type { Membership, Seen } from '../identity/members.ts'
import { ownedBy } from '../identity/members.ts'
import type { AccountId, CallId, KeyId, PriceVersionId, UserId } from '../platform/ids.ts'
import { newId, publicId } from '../platform/ids.ts'
import type { Dialect } from '../chat/dialect.ts'
import type { ErrorCode } from '../platform/errors.ts'
import type { SessionUse } from '../calls/tries.ts'
import type { Ended } from '../calls/types.ts'
import type { Answer, LongAnswer } from '../calls/stored-answers.ts'
import { INLINE_BYTES, answerOf, longAnswerOf, passingAnswerOf } from '../calls/stored-answers.ts'
import type { Modality } from '../terms/kinds.ts'
import type { CallStatus } from '../terms/lifecycle.ts'
import { hasEnded } from '../terms/lifecycle.ts'
import type { Price } from '../terms/pricing.ts'
import { shownPrice } from '../terms/shown-price.ts'

/** Fields of every call state. `requestHash` in hex, where its request could be retried. */
type Known = { callId: CallId; accountId: AccountId; modality: Modality; requestHash: string | null }

/** The state of a call, for a client that wants its answer. */
export type CallState =
  /** `isDeleted`: by its owner, so that nobody gets its result. */
  | ({ state: 'open'; status: 'queued' | 'running'; deadlineInMs: number; replyTo: string; isDeleted: boolean } & Known)
  | ({ state: 'ended' } & Known & Ended<Answer | LongAnswer>)
  /** It has ended, and its answer is on its way to those who waited for it, and to nobody else. */
  | ({ state: 'passing' } & Known & Ended<LongAnswer>)
  | ({ state: 'expired' } & Known)

/** A call record as the console and the admin command show it. Credits, tokens and milliseconds. */
export type CallRecord = {
  id: string
  model: string
  /** The model that was asked first: another one only of a list, where that has gone on. */
  requested: string
  modality: Modality
  /** In which a chat was asked, and is answered; null for images and videos. */
  dialect: Dialect | null
  status: CallStatus
  httpStatus: number | null
  errorType: string | null
  credits: number
  creditsPrecharged: number
  creditsUncollected: number
  inputTokens: number | null
  cachedInputTokens: number | null
  cacheWriteTokens: number | null
  outputTokens: number | null
  /** At which it was opened, as its account pays it; null for a refusal. */
  price: Price | null
  priceVersion: string | null
  latencyMs: number | null
  upstream: string | null
  attempts: number
  /** How its session was served; null if it named none. */
  session: SessionUse | null
  keyId: string
  /** The member whose key that is. */
  memberId: string
  /** The first of its results, and all of them; none if they are no longer stored. */
  resultUrl: string | null
  resultUrls: string[]
  /** How many pictures were delivered; null for other kinds. */
  pictures: number | null
  createdAt: string
  finishedAt: string | null
  count: number
}

type StateRow = {
  id: CallId
  account_id: AccountId
  user_id: UserId
  modality: Modality
  dialect: Dialect | null
  error_type: ErrorCode | null
  status: CallStatus
  http_status: number
  credits: number
  balance_after: number
  latency_ms: number
  reply_to: string
  is_deleted: boolean
  request_hash: string | null
  output: string | null
  output_bytes: number | null
  passing_bytes: number | null
  deadline_in_ms: number
}

/**
 * The state of this call, with its answer unless that is long; null if there is no such call, or it is only the
 * record of a refusal.
 * @param holder keeps it to the calls of that member: to others' answers a key leads no more than to other accounts'.
 */
export async function readState(db: Db, id: CallId, holder?: Membership): Promise<CallState | null> {
  const { rows } = await db
    .raw<{ rows: StateRow[] }>(
      `
    SELECT c.id, c.account_id, c.user_id, c.modality, c.dialect, c.status, c.http_status, c.error_type, c.credits,
      c.balance_after, c.latency_ms, c.reply_to, c.deleted_at IS NOT NULL AS is_deleted,
      encode(c.request_hash, 'hex') AS request_hash,
      (extract(epoch FROM c.deadline_at - now()) * 1000)::bigint AS deadline_in_ms,
      octet_length(r.output) AS output_bytes, octet_length(p.output) AS passing_bytes,
      CASE WHEN octet_length(r.output) <= ${INLINE_BYTES} THEN r.output END AS output
    FROM calls c LEFT JOIN call_results r ON r.call_id = c.id AND r.expires_at > now()
      LEFT JOIN passing_answers p ON p.call_id = c.id AND c.modality = 'embedding' AND c.status = 'succeeded'
    WHERE c.id = ? AND c.status <> 'rejected'`,
      [id],
    )
    .options({ name: 'read_state' })
  const row = rows[0]
  if (!row || (holder && (row.account_id !== holder.accountId || row.user_id !== holder.userId))) return null
  const common = { callId: row.id, accountId: row.account_id, modality: row.modality, requestHash: row.request_hash }
  if (!hasEnded(row.status)) {
    const status = row.status as 'queued' | 'running'
    const { deadline_in_ms: deadlineInMs, reply_to: replyTo, is_deleted: isDeleted } = row
    return { state: 'open', ...common, status, deadlineInMs, replyTo, isDeleted }
  }
  const call = {
    callId: row.id,
    modality: row.modality,
    dialect: row.dialect,
    errorType: row.error_type,
    status: row.status,
    httpStatus: row.http_status,
    credits: row.credits,
    balanceAfter: row.balance_after,
    latencyMs: row.latency_ms,
  }
  const ended = { ...common, replyTo: row.reply_to, status: row.status, balance: row.balance_after }
  if (row.passing_bytes !== null)
    return { state: 'passing', ...ended, answer: passingAnswerOf(call, row.passing_bytes) }
  // Of what is not stored the result is empty: it shows that the call was made.
  if (row.output_bytes === null || row.output_bytes === 0) return { state: 'expired', ...common }
  const answer = row.output === null ? longAnswerOf(call, row.output_bytes) : answerOf(call, row.output)
  return { state: 'ended', ...ended, answer }
}

/** Which of these calls have ended. */
export async function findEnded(db: Db, ids: readonly CallId[]): Promise<CallId[]> {
  const { rows } = await db
    .raw<{ rows: { id: CallId }[] }>(
      `
    SELECT id FROM calls WHERE id = ANY (?::uuid[]) AND status IN ('succeeded', 'failed')`,
      [[...ids]],
    )
    .options({ name: 'find_ended' })
  return rows.map((row) => row.id)
}

/** Which of these calls no worker has begun. */
export async function findQueued(db: Db, ids: readonly CallId[]): Promise<CallId[]> {
  const { rows } = await db.raw<{ rows: { id: CallId }[] }>(
    `SELECT id FROM calls WHERE id = ANY (?::uuid[]) AND status = 'queued'`,
    [[...ids]],
  )
  return rows.map((row) => row.id)
}

/** What a record is made of. */
export const RECORD_COLUMNS = [
  'id',
  'model',
  'requested',
  'modality',
  'dialect',
  'status',
  'http_status',
  'error_type',
  'credits',
  'credits_precharged',
  'credits_uncollected',
  'input_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'output_tokens',
  'price',
  'price_version',
  'latency_ms',
  'upstream',
  'attempts',
  'tries',
  'session',
  'key_id',
  'user_id',
  'result_url',
  'more_result_urls',
  'pictures',
  'created_at',
  'finished_at',
  'count',
] as const

/** `RECORD_COLUMNS` of a row. */
export type RecordRow = {
  id: CallId
  model: string
  requested: string | null
  modality: Modality
  dialect: Dialect | null
  status: CallStatus
  http_status: number | null
  error_type: string | null
  credits: number
  credits_precharged: number
  credits_uncollected: number
  input_tokens: number | null
  cached_input_tokens: number | null
  cache_write_tokens: number | null
  output_tokens: number | null
  price: Price | null
  price_version: PriceVersionId | null
  latency_ms: number | null
  upstream: string | null
  attempts: number
  tries: number | null
  session: SessionUse | null
  key_id: KeyId
  user_id: UserId
  result_url: string | null
  more_result_urls: string[] | null
  pictures: number | null
  created_at: Date
  finished_at: Date | null
  count: number
}

/** The record of one call; null if there is none. `seen` limits it to these. */
export async function findRecord(db: Db, id: CallId, seen?: Seen): Promise<CallRecord | null> {
  const row = await db('calls')
    .where({ id, ...(seen && ownedBy(seen)) })
    .first<RecordRow | undefined>(...RECORD_COLUMNS)
  return row ? recordOf(row) : null
}

/** The records of these calls, as far as they are seen, the newest first. */
export async function findRecords(db: Db, ids: readonly CallId[], seen: Seen): Promise<CallRecord[]> {
  const rows = await db('calls')
    .whereIn('id', [...ids])
    .where(ownedBy(seen))
    .orderBy('created_at', 'desc')
    .select<RecordRow[]>(...RECORD_COLUMNS)
  return rows.map(recordOf)
}

/** What its owner sees of a call. */
export function recordOf(row: RecordRow): CallRecord {
  return {
    id: publicId('call', row.id),
    model: row.model,
    requested: row.requested ?? row.model,
    modality: row.modality,
    dialect: row.dialect ?? (row.modality === 'chat' ? 'chat' : null),
    status: row.status,
    httpStatus: row.http_status,
    errorType: row.error_type,
    credits: row.credits,
    creditsPrecharged: row.credits_precharged,
    creditsUncollected: row.credits_uncollected,
    inputTokens: row.input_tokens,
    cachedInputTokens: row.cached_input_tokens,
    cacheWriteTokens: row.cache_write_tokens,
    outputTokens: row.output_tokens,
    price: row.price && shownPrice(row.price),
    priceVersion: row.price_version && publicId('price', row.price_version),
    latencyMs: row.latency_ms,
    upstream: row.upstream,
    attempts: row.tries ?? row.attempts,
    session: row.session,
    keyId: publicId('key', row.key_id),
    memberId: publicId('user', row.user_id),
    resultUrl: row.result_url,
    resultUrls: row.result_url === null ? [] : [row.result_url, ...(row.more_result_urls ?? [])],
    pictures: row.pictures,
    createdAt: row.created_at.toISOString(),
    finishedAt: row.finished_at?.toISOString() ?? null,
    count: row.count,
  }
}

/** Whether an account has had a call that was not refused. */
export const hasCalled = async (db: Db, accountId: AccountId): Promise<boolean> =>
  (await db('calls').where({ account_id: accountId }).whereNot({ status: 'rejected' }).first('id')) !== undefined

/** A fresh id for a call that is about to be opened or refused. */
export const newCallId = (): CallId => newId('call')
