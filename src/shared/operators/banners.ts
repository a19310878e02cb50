/** The banner: a text above every page of the console, for everybody. There is one at a time. */
import type { BannerId } from '../platform/ids.ts'
import { publicId } from '../platform/ids.ts'
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { Operator } from '../action-log/actions.ts'
import { recordAction } from '../action-log/actions.ts'

/** How urgent a banner is. */
export const LEVELS = ['info', 'warning', 'critical'] as const
/** One of these levels. */
type Level = (typeof LEVELS)[number]

/** The most characters of a banner. */
export const MAX_BANNER_TEXT = 300

/** A banner to set. `from` null: at once. `until` null: until it is removed. */
export type NewBanner = { id: BannerId; text: string; level: Level; from: Date | null; until: Date | null }

/** A banner as operators see it. */
export type Banner = { id: string; text: string; level: Level; from: string; until: string | null }

type BannerRow = { id: BannerId; text: string; level: Level; shown_from: Date; shown_until: Date | null }

const presentBanner = (row: BannerRow): Banner => ({
  id: publicId('banner', row.id),
  text: row.text,
  level: row.level,
  from: row.shown_from.toISOString(),
  until: row.shown_until?.toISOString() ?? null,
})

/** The banner that was set last, as long as it is neither removed nor over; it may be still to come. */
export async function findBanner(db: Db): Promise<Banner | null> {
  const row = await db('banners')
    .whereNull('removed_at')
    .whereRaw('(shown_until IS NULL OR shown_until > now())')
    .first<BannerRow | undefined>('*')
  return row ? presentBanner(row) : null
}

/** Sets the banner in place of the one before. @throws if it would end before it begins (by a constraint). */
export const setBanner = async (
  db: Db,
  operator: Operator,
  { id, text, level, from, until }: NewBanner,
): Promise<void> =>
  db.transaction(async (trx) => {
    await removeCurrent(trx)
    await trx('banners').insert({ id, text, level, shown_from: from ?? trx.fn.now(), shown_until: until })
    await recordAction(trx, operator, 'banner_set', null, {
      bannerId: publicId('banner', id),
      text,
      level,
      from: from?.toISOString() ?? null,
      until: until?.toISOString() ?? null,
    })
  })

/** Removes the banner; false if there is none. */
export const removeBanner = async (db: Db, operator: Operator): Promise<boolean> =>
  db.transaction(async (trx) => {
    const id = await removeCurrent(trx)
    if (id) await recordAction(trx, operator, 'banner_removed', null, { bannerId: publicId('banner', id) })
    return id !== null
  })

/** Another operator who sets a banner at the same time waits, and then finds this one to replace. */
async function removeCurrent(trx: Trx): Promise<BannerId | null> {
  await trx.raw('LOCK TABLE banners IN SHARE ROW EXCLUSIVE MODE')
  const rows = await trx('banners')
    .whereNull('removed_at')
    .update({ removed_at: trx.fn.now() })
    .returning<{ id: BannerId }[]>('id')
  return rows[0]?.id ?? null
}
