/**
 * Files of forms on their way from a web process to the worker of their call. The two are different machines, and Redis
 * holds everything in memory: so they pass through a table, in chunks; it is not logged, and so in no backup
 * (docs/architecture.md#uploads). They are there as long as their call is open.
 */
import type { Db } from '../platform/postgres/db.ts'
import type { CallId } from '../platform/ids.ts'

/** A file as a job carries it: which of its form's files it is, from 0, what its client calls it, and its length. */
export type UploadedFile = { place: number; name: string; type: string; bytes: number }

/** How much of a file is read or written at once, in bytes. */
export const CHUNK_BYTES = 1_048_576

/** Stores a file for the worker of an open call. @param chunks at most CHUNK_BYTES each */
export async function putUpload(db: Db, callId: CallId, place: number, chunks: AsyncIterable<Buffer>): Promise<void> {
  let chunk = 0
  for await (const bytes of chunks) {
    await db('uploads').insert({ call_id: callId, place, chunk: chunk++, bytes })
  }
}

/**
 * The bytes of a file.
 * @throws UploadLost if it is not there, or not whole: Postgres empties what is not logged after a crash
 */
export async function* readUpload(db: Db, callId: CallId, { place, bytes }: UploadedFile): AsyncGenerator<Buffer> {
  let left = bytes
  for (let chunk = 0; left > 0; chunk++) {
    const row = await db('uploads')
      .where({ call_id: callId, place, chunk })
      .first<{ bytes: Buffer } | undefined>('bytes')
    if (!row) throw new UploadLost()
    left -= row.bytes.length
    yield row.bytes
  }
}

/** Whether all of these files are there. */
export async function areUploaded(db: Db, callId: CallId, files: readonly UploadedFile[]): Promise<boolean> {
  const { rows } = await db.raw<{ rows: { bytes: number }[] }>(
    'SELECT coalesce(sum(octet_length(bytes)), 0)::bigint AS bytes FROM uploads WHERE call_id = ?',
    [callId],
  )
  return Number(rows[0]!.bytes) === files.reduce((sum, file) => sum + file.bytes, 0)
}

/** Removes the files of a call that needs them no more. */
export async function dropUploads(db: Db, callId: CallId): Promise<void> {
  await db('uploads').where({ call_id: callId }).delete()
}

/** Removes the files of calls that have ended, no matter how. @returns how many chunks */
export async function sweepUploads(db: Db): Promise<number> {
  const { rowCount } = await db.raw<{ rowCount: number }>(
    `DELETE FROM uploads u
    WHERE NOT EXISTS (SELECT FROM calls c WHERE c.id = u.call_id AND c.finished_at IS NULL)`,
  )
  return rowCount
}

/** The file of a call is gone. */
export class UploadLost extends Error {}
