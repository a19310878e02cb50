/** The records of refusals: calls that never became a charge. */
import { batched } from '../platform/postgres/batcher.ts'
import type { Db } from '../platform/postgres/db.ts'
import { isUnreachable } from '../platform/postgres/db.ts'
import type { ErrorCode } from '../platform/errors.ts'
import { statusOf } from '../platform/errors.ts'
import type { AccountId, CallId, KeyId, UserId } from '../platform/ids.ts'
import type { Dialect } from '../chat/dialect.ts'
import type { Modality } from '../terms/kinds.ts'

/** A refusal after the key was accepted, recorded at no cost. */
export type Refusal = {
  id: CallId
  accountId: AccountId
  keyId: KeyId
  /** Whose key it is. */
  userId: UserId
  modality: Modality
  /** In which a chat was asked, where that is not chat completions. */
  dialect?: Dialect | undefined
  /** The model as requested: any text that a client may send. */
  model: string
  error: ErrorCode
  requestId: string
  latencyMs: number
}

/** Records a refusal. @returns the id of its record: that of the first of its minute where it was folded. */
export type RecordRefusal = (refusal: Refusal) => Promise<CallId>

/**
 * Records refusals. Those for the rate limit or the address are folded into one record per minute, so that a client in
 * a loop cannot fill the table; and those of one moment are written in one statement, so that it cannot hold more than
 * one connection either.
 */
export const createRefusals = (db: Db): RecordRefusal =>
  batched((refusals) => recordRefusals(db, refusals), isUnreachable)

/**
 * Refusals that a client can cause without end: those for the rate, and for the address, which is checked before the
 * rate.
 */
const FOLDED: ReadonlySet<ErrorCode> = new Set(['rate_limited', 'ip_not_allowed'])

/** How many characters of a client's text a record keeps. */
const MAX_CHARACTERS = 200

/**
 * Postgres stores neither NUL nor lone surrogates; they must not make a record fail. The text is cut before it is
 * scanned: it may be as long as a body. A character takes two units at most.
 */
const storable = (text: string): string =>
  Array.from(
    text
      .slice(0, 2 * MAX_CHARACTERS)
      .toWellFormed()
      .replaceAll('\0', '\uFFFD'),
  )
    .slice(0, MAX_CHARACTERS)
    .join('')

/** A row to write, with the number of refusals that it counts. */
type Row = {
  id: CallId
  account_id: AccountId
  key_id: KeyId
  user_id: UserId
  modality: Modality
  dialect: Dialect | null
  model: string
  http_status: number
  error_type: ErrorCode
  request_id: string
  latency_ms: number
  folded: boolean
  count: number
}

type FoldedRow = Pick<Row, 'id' | 'key_id' | 'modality' | 'model' | 'error_type'>

/** What the refusals of one record have in common within its minute. */
const foldOf = ({ key_id, modality, model, error_type }: FoldedRow): string =>
  JSON.stringify([key_id, modality, model, error_type])

async function recordRefusals(db: Db, refusals: Refusal[]): Promise<CallId[]> {
  const rows = refusals.map(rowOf)
  const { rows: written } = await db
    .raw<{ rows: FoldedRow[] }>(
      `
    -- What reads the clock has a transaction id by then (sql/fold_usage.sql).
    WITH begun AS MATERIALIZED (SELECT pg_current_xact_id())
    INSERT INTO calls (id, account_id, key_id, user_id, modality, dialect, model, status, http_status, error_type,
      request_id, latency_ms, finished_at, count)
    SELECT CASE WHEN folded THEN folded_id(key_id, modality, model, error_type, now()) ELSE id END, account_id, key_id,
      user_id, modality, dialect, model, 'rejected', http_status, error_type, request_id, latency_ms, clock_timestamp(),
      count
    FROM begun, jsonb_to_recordset(?::jsonb) AS refusal (id uuid, account_id uuid, key_id uuid, user_id uuid,
      modality text, dialect text, model text, http_status integer, error_type text, request_id text, latency_ms bigint,
      folded boolean, count integer)
    ORDER BY key_id, modality, model, error_type
    ON CONFLICT (id) DO UPDATE SET count = calls.count + EXCLUDED.count, finished_at = clock_timestamp()
    RETURNING id, key_id, modality, model, error_type`,
      [JSON.stringify(foldedTogether(rows))],
    )
    .options({ name: 'record_refusals' })
  const recorded = new Map(written.map((row) => [foldOf(row), row.id]))
  return rows.map((row) => (row.folded ? recorded.get(foldOf(row))! : row.id))
}

function rowOf(refusal: Refusal): Row {
  return {
    id: refusal.id,
    account_id: refusal.accountId,
    key_id: refusal.keyId,
    user_id: refusal.userId,
    modality: refusal.modality,
    dialect: refusal.dialect ?? null,
    model: storable(refusal.model),
    http_status: statusOf(refusal.error),
    error_type: refusal.error,
    request_id: storable(refusal.requestId),
    latency_ms: refusal.latencyMs,
    folded: FOLDED.has(refusal.error),
    count: 1,
  }
}

/** One row for all that fold into one: a statement cannot update a row twice. */
function foldedTogether(rows: Row[]): Row[] {
  const together = new Map<string, Row>()
  for (const row of rows) {
    const key = row.folded ? foldOf(row) : row.id
    const first = together.get(key)
    if (first) first.count++
    else together.set(key, { ...row })
  }
  return [...together.values()]
}
