/**
 * A grant keeps the time when it first expired: what a call gives back to it later can be spent until `revived_until`,
 * and what it had left is gone. Charges and ends have one function each: the short forms for the common case go.
 */
import type { Knex } from 'knex'
import { ROW_RULES } from './014_row_rules.ts'
import { setRowRules } from './row-rules.ts'

/** The rules of a grant from here on. */
export const GRANT_RULES: Record<string, string> = {
  ...ROW_RULES.grants,
  grants_revived_once_expired: 'r.revived_until IS NULL OR coalesce(r.revived_until > r.expires_at, false)',
}

/** Functions that are no longer called, and `end_calls`, whose answer has a new column. No release had them. */
const GONE = [
  'open_plain_calls',
  'open_one_call',
  'end_plain_calls',
  'end_usual_calls',
  'end_one_call',
  'judge_keys',
  'end_calls',
]

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    ALTER TABLE grants ADD COLUMN revived_until timestamptz;
    COMMENT ON COLUMN grants.expires_at IS 'From then on what is left of it pays for nothing; null: never.';
    COMMENT ON COLUMN grants.revived_until
      IS 'Until when it pays again, by what came back to it past its time: a day after expires_at, or after a payment '
      'was reinstated.';
  `)
  await setRowRules(db, 'grants', GRANT_RULES)
  for (const name of GONE) await db.raw(`DROP FUNCTION IF EXISTS ${name}`)
  await db('applied_sql').whereIn('name', GONE).delete()
}

export async function down(db: Knex): Promise<void> {
  await setRowRules(db, 'grants', ROW_RULES.grants!)
  await db.raw(`
    ALTER TABLE grants DROP COLUMN revived_until;
    COMMENT ON COLUMN grants.expires_at IS 'From then on it pays for nothing; null: never.';
  `)
}
