/**
 * Videos as their owner sees them: what was asked for, how far it is, what became of it, and its deletion. A video is a
 * call; nothing else is stored of it.
 */
import type { Knex } from 'knex'
import type { Db } from '../platform/postgres/db.ts'
import type { Membership } from '../identity/members.ts'
import type { CallId } from '../platform/ids.ts'
import type { CallStatus } from '../terms/lifecycle.ts'

/** A video that its owner can see. Times in Unix seconds. */
export type VideoRow = {
  id: CallId
  model: string
  status: Exclude<CallStatus, 'rejected'>
  /** The length that was asked for, in seconds, as a decimal; null if its model states none. */
  seconds: string | null
  resolution: string | null
  /** In percent, as last reported by its upstream. */
  progress: number
  /** What it costs: held until it has ended. */
  credits: number
  /** After its end; until then the balance of now. */
  balance: number
  /** Why it failed. `error`: the stored error as JSON, for as long as answers are stored. */
  errorType: string | null
  error: string | null
  resultUrl: string | null
  createdAt: number
  finishedAt: number | null
}

/** Where a page of videos begins, how long it is, and which way it goes. */
export type VideoPage = { after: CallId | null; limit: number; order: 'asc' | 'desc' }

const COLUMNS = `c.id, c.model, c.status, c.seconds::text AS seconds, c.resolution,
  coalesce(c.progress, 0) AS progress, c.credits, coalesce(c.balance_after, acc.credits) AS balance,
  c.error_type AS "errorType", r.output AS error, c.result_url AS "resultUrl",
  floor(extract(epoch FROM c.created_at))::bigint AS "createdAt",
  floor(extract(epoch FROM c.finished_at))::bigint AS "finishedAt"`

/** All that a member of an account has asked for, without refusals. */
const askedBy = (db: Db, { accountId, userId }: Membership): Knex.QueryBuilder =>
  db('calls AS c')
    .join('accounts AS acc', 'acc.id', 'c.account_id')
    .joinRaw(`LEFT JOIN call_results r ON r.call_id = c.id AND c.status = 'failed' AND r.expires_at > now()`)
    .where({ 'c.account_id': accountId, 'c.user_id': userId, 'c.modality': 'video' })
    .whereNot('c.status', 'rejected')

/** The videos of a member, without those that they have deleted. */
const videosOf = (db: Db, holder: Membership): Knex.QueryBuilder => askedBy(db, holder).whereNull('c.deleted_at')

/** A video of a member; null if they have none of this id. */
export const findVideo = async (db: Db, holder: Membership, id: CallId): Promise<VideoRow | null> =>
  (await videosOf(db, holder).where('c.id', id).first<VideoRow | undefined>(db.raw(COLUMNS))) ?? null

/** The same, whether they have deleted it or not. */
export const findAskedVideo = async (db: Db, holder: Membership, id: CallId): Promise<VideoRow | null> =>
  (await askedBy(db, holder).where('c.id', id).first<VideoRow | undefined>(db.raw(COLUMNS))) ?? null

/**
 * A page of a member's videos, and one more where there are more.
 * @returns null if they have no video that it could begin after
 */
export async function listVideos(
  db: Db,
  holder: Membership,
  { after, limit, order }: VideoPage,
): Promise<VideoRow[] | null> {
  const place = `SELECT p.created_at, p.id FROM calls p
    WHERE p.id = ? AND p.account_id = ? AND p.user_id = ? AND p.modality = 'video'`
  const from = after && [after, holder.accountId, holder.userId]
  if (from && !(await db.raw<{ rowCount: number }>(place, from)).rowCount) return null
  return await videosOf(db, holder)
    .modify((query) => {
      if (from) void query.whereRaw(`(c.created_at, c.id) ${order === 'asc' ? '>' : '<'} (${place})`, from)
    })
    .orderBy([
      { column: 'c.created_at', order },
      { column: 'c.id', order },
    ])
    .limit(limit + 1)
    .select<VideoRow[]>(db.raw(COLUMNS))
}

/**
 * Deletes a video for its owner: it is no longer shown, and its result no longer stored. A worker that makes it stops
 * as soon as it knows.
 * @returns its status at that moment; null if its owner has no such video, or has deleted it
 */
export const deleteVideo = (
  db: Db,
  { accountId, userId }: Membership,
  id: CallId,
): Promise<VideoRow['status'] | null> =>
  db.transaction(async (trx) => {
    const { rows } = await trx.raw<{ rows: Pick<VideoRow, 'status'>[] }>(
      `
      UPDATE calls SET deleted_at = now()
      WHERE id = ? AND account_id = ? AND user_id = ? AND modality = 'video' AND status <> 'rejected'
        AND deleted_at IS NULL
      RETURNING status`,
      [id, accountId, userId],
    )
    if (!rows[0]) return null
    // Not in the statement above: it may have waited while the call was ended, and would not see the result of that.
    await trx('call_results').where({ call_id: id }).delete()
    return rows[0].status
  })

/** Deleted videos whose file has not been removed, with its address. */
export const deletedWithMedia = async (db: Db, limit: number): Promise<{ id: CallId; resultUrls: string[] }[]> =>
  db('calls')
    .whereNotNull('deleted_at')
    .whereNotNull('result_url')
    .limit(limit)
    .select<{ id: CallId; resultUrls: string[] }[]>('id', db.raw('ARRAY[result_url] AS "resultUrls"'))
