/**
 * The backlog as Postgres sees it. In Redis the oldest job can be anywhere in its queue, because accounts with few
 * open calls go first.
 */
import type { Db } from '../platform/postgres/db.ts'
import type { Modality } from '../terms/kinds.ts'

/** How long the oldest call has waited to be begun, in seconds, by modality; absent if none waits. */
export async function oldestQueued(db: Db): Promise<Partial<Record<Modality, number>>> {
  const { rows } = await db.raw<{ rows: { modality: Modality; seconds: number }[] }>(`
    SELECT modality, extract(epoch FROM now() - min(created_at))::float8 AS seconds
    FROM calls WHERE finished_at IS NULL AND status = 'queued' GROUP BY modality`)
  return Object.fromEntries(rows.map(({ modality, seconds }) => [modality, seconds]))
}
