/** Keys of upstreams that operators have switched off: never forgotten, unlike cool-downs (`key-states.ts`). */
import type { Operator } from '../action-log/actions.ts'
import { recordAction } from '../action-log/actions.ts'
import type { Db } from '../platform/postgres/db.ts'
import type { KeyRef, KeyState } from './key-states.ts'

/** A key of an upstream by its names. */
export type KeyName = Pick<KeyRef, 'upstream' | 'key'>

/** The keys that are switched off. */
export const disabledKeys = (db: Db): Promise<KeyName[]> =>
  db('disabled_upstream_keys').select<KeyName[]>('upstream', 'key')

/** Switches a key off until it is enabled. */
export const disableKey = (db: Db, operator: Operator, { upstream, key }: KeyName): Promise<void> =>
  db.transaction(async (trx) => {
    await trx('disabled_upstream_keys').insert({ upstream, key }).onConflict(['upstream', 'key']).ignore()
    await recordAction(trx, operator, 'upstream_key_disabled', null, { upstream, key })
  })

/** Switches a key on again. */
export const enableKey = (db: Db, operator: Operator, { upstream, key }: KeyName): Promise<void> =>
  db.transaction(async (trx) => {
    await trx('disabled_upstream_keys').where({ upstream, key }).delete()
    await recordAction(trx, operator, 'upstream_key_enabled', null, { upstream, key })
  })

/** Records that a key was tested. */
export const recordKeyTest = (
  db: Db,
  operator: Operator,
  { upstream, key, status }: KeyName & { status: number | null },
): Promise<void> =>
  db.transaction((trx) => recordAction(trx, operator, 'upstream_key_tested', null, { upstream, key, status }))

/** Notifies operators that a key is no longer asked. */
export async function noteKeyFailure(db: Db, { upstream, key }: KeyName, { reason, until }: KeyState): Promise<void> {
  await db.raw(
    `SELECT tell_webhooks(NULL, 'upstream.key.failed', jsonb_build_object('upstream', ?::text, 'key', ?::text,
       'reason', ?::text, 'until', iso_time(to_timestamp(?::double precision / 1000))))`,
    [upstream, key, reason, until],
  )
}
