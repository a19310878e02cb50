/**
 * Responses that later requests may refer to: beside their answers, which are kept as every call's, the items that they
 * were asked with. These go when the answer goes.
 */
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import type { Db } from '../platform/postgres/db.ts'
import type { Membership } from '../accounts/members.ts'
import type { AccountId, CallId } from '../platform/ids.ts'
import { asFields } from '../platform/fields.ts'
import type { Fields } from '../platform/fields.ts'

const compress = promisify(gzip)
const decompress = promisify(gunzip)

/** From how many bytes, compressed, an input is counted before it is kept: shorter ones cost what bounds them. */
const COUNTED_BYTES = 262_144

/** The most bytes of counted inputs that are kept for one account. */
const MOST_KEPT_BYTES = 1_073_741_824

/**
 * Keeps what a response was asked with, once its answer is kept. Pictures cost little, and each response that goes on
 * with an earlier one has its pictures again: of large inputs an account keeps no more than `mostBytes`.
 */
export async function keepInput(
  db: Db,
  { callId, accountId }: { callId: CallId; accountId: AccountId },
  items: readonly Fields[],
  mostBytes: number = MOST_KEPT_BYTES,
): Promise<void> {
  const isMissing = await db('call_results').where({ call_id: callId }).whereNull('input').first('call_id')
  if (!isMissing) return
  const input = await compress(JSON.stringify(items))
  if (input.length > COUNTED_BYTES && (await keptBytes(db, accountId)) + input.length > mostBytes) return
  await db('call_results').where({ call_id: callId }).update({ input })
}

/** The bytes of the large inputs that are kept for an account. They are counted without being read. */
async function keptBytes(db: Db, accountId: AccountId): Promise<number> {
  const { rows } = await db.raw<{ rows: { bytes: string }[] }>(
    `
    SELECT coalesce(sum(octet_length(r.input)), 0) AS bytes
    FROM calls c JOIN call_results r ON r.call_id = c.id
    WHERE c.account_id = :accountId AND c.dialect = 'responses' AND octet_length(r.input) > :counted`,
    { accountId, counted: COUNTED_BYTES },
  )
  return Number(rows[0]!.bytes)
}

/** Ends the keeping of a member's response. @returns whether there was one */
export async function forgetResponse(db: Db, { userId, accountId }: Membership, callId: CallId): Promise<boolean> {
  const { rowCount } = await db.raw<{ rowCount: number }>(
    `
    DELETE FROM call_results r USING calls c
    WHERE c.id = r.call_id AND r.call_id = :callId AND c.account_id = :accountId AND c.user_id = :userId
      AND c.dialect = 'responses'`,
    { callId, userId, accountId },
  )
  return rowCount > 0
}

/** A stored response: what it was asked with, and what it answered. */
export type StoredResponse = { input: Fields[]; output: Fields[] }

/**
 * A member's stored responses among these calls.
 * @returns null where they have more than `maxBytes` together
 */
export async function findResponses(
  db: Db,
  holder: Membership,
  ids: readonly CallId[],
  maxBytes: number,
): Promise<Map<CallId, StoredResponse> | null> {
  const found = new Map<CallId, StoredResponse>()
  let left = maxBytes
  // One after the other: a compressed input may be a thousand times as long as it is stored.
  for (const id of ids) {
    const row = await read(db, holder, id, left)
    if (row === 'missing') continue
    if (row === 'too_long') return null
    left -= row.bytes
    found.set(id, row.response)
  }
  return found
}

type Read = { bytes: number; response: StoredResponse } | 'missing' | 'too_long'

async function read(db: Db, { userId, accountId }: Membership, id: CallId, maxBytes: number): Promise<Read> {
  const { rows } = await db.raw<{ rows: { output: string | null; input: Buffer }[] }>(
    `
    SELECT CASE WHEN octet_length(r.output) <= :maxBytes THEN r.output END AS output, r.input
    FROM calls c JOIN call_results r ON r.call_id = c.id
    WHERE c.id = :id AND c.account_id = :accountId AND c.user_id = :userId AND c.dialect = 'responses'
      AND c.status = 'succeeded' AND r.input IS NOT NULL AND r.expires_at > now()`,
    { id, userId, accountId, maxBytes },
  )
  const [row] = rows
  if (!row) return 'missing'
  if (row.output === null) return 'too_long'
  const left = maxBytes - Buffer.byteLength(row.output)
  const input = left <= 0 ? null : await decompress(row.input, { maxOutputLength: left }).catch(unlessTooLong)
  if (input === null) return 'too_long'
  const response = { input: listOf(JSON.parse(String(input))), output: listOf(asFields(JSON.parse(row.output)).output) }
  return { bytes: Buffer.byteLength(row.output) + input.length, response }
}

function unlessTooLong(error: unknown): null {
  if ((error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE') return null
  throw error
}

const listOf = (value: unknown): Fields[] => (Array.isArray(value) ? value.map(asFields) : [])

/** Of which model a response was asked, and when, in Unix seconds; null where there is none of this member. */
export async function findAsked(
  db: Db,
  { userId, accountId }: Membership,
  id: CallId,
): Promise<{ model: string; created: number } | null> {
  const row = await db('calls')
    .where({ id, account_id: accountId, user_id: userId, dialect: 'responses' })
    .first<{ model: string; created_at: Date } | undefined>('model', 'created_at')
  return row ? { model: row.model, created: Math.floor(row.created_at.getTime() / 1000) } : null
}
