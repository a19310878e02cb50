/**
 * Webhook events: the rows of `payment_events`. An event is stored once, and stays due until a worker has handled it.
 */
import type { Db } from '../platform/postgres/db.ts'
import type { Hint } from './provider.ts'

/** How an event ended. */
export type EventOutcome = 'checked' | 'ignored' | 'unknown' | 'given up'

/** Stores an event, unless it is stored already. @returns whether a worker has to handle it. */
export async function storeEvent(db: Db, provider: string, { id, type, liveMode, ...hint }: Hint): Promise<boolean> {
  const rows = await db('payment_events')
    .insert({
      provider,
      id,
      type,
      live_mode: liveMode,
      hint: JSON.stringify(hint),
      ...(!hint.matters && { outcome: 'ignored', next_try_at: null }),
    })
    .onConflict(['provider', 'id'])
    .ignore()
    .returning('id')
  return rows.length === 1 && hint.matters
}

type EventRow = {
  id: string
  type: string
  live_mode: boolean
  hint: Omit<Hint, 'id' | 'type' | 'liveMode'>
  tries: number
}

/** Takes an event for this many seconds; null if it has been handled. */
export async function takeEvent(
  db: Db,
  provider: string,
  id: string,
  leaseSeconds: number,
): Promise<(Hint & { tries: number }) | null> {
  const { rows } = await db.raw<{ rows: EventRow[] }>(
    `
    UPDATE payment_events SET tries = tries + 1, next_try_at = now() + make_interval(secs => ?)
    WHERE provider = ? AND id = ? AND next_try_at IS NOT NULL
    RETURNING id, type, live_mode, hint, tries`,
    [leaseSeconds, provider, id],
  )
  const row = rows[0]
  return row ? { ...row.hint, id: row.id, type: row.type, liveMode: row.live_mode, tries: row.tries } : null
}

/** Ends an event. */
export async function endEvent(db: Db, provider: string, id: string, outcome: EventOutcome): Promise<void> {
  await db('payment_events').where({ provider, id, outcome: null }).update({ outcome, next_try_at: null })
}

/** Has an event tried again after a pause. */
export async function postponeEvent(db: Db, provider: string, id: string, seconds: number): Promise<void> {
  await db('payment_events')
    .where({ provider, id, outcome: null })
    .update({ next_try_at: db.raw('now() + make_interval(secs => ?)', [seconds]) })
}

/** Events that have been due for this many seconds: their job was lost or is late. */
export const dueEvents = async (db: Db, graceSeconds: number, limit: number): Promise<string[]> =>
  db('payment_events')
    .whereRaw('next_try_at <= now() - make_interval(secs => ?)', [graceSeconds])
    .orderBy('next_try_at')
    .limit(limit)
    .pluck<string[]>('id')

/** How long events are stored, in days. */
const KEPT_DAYS = 120

/** Deletes handled events that are older than that. */
export const deleteOldEvents = async (db: Db): Promise<number> =>
  db('payment_events')
    .whereNotNull('outcome')
    .whereRaw('created_at < now() - make_interval(days => ?)', [KEPT_DAYS])
    .delete()
