/** What operators do to their own webhooks, in the log of their actions. */
import type { Knex } from 'knex'

const BEFORE = [
  'credits_granted',
  'account_suspended',
  'account_activated',
  'account_limited',
  'role_changed',
  'account_grouped',
  'mail_revived',
  'catalogue_applied',
  'catalogue_rolled_back',
  'key_limited',
  'key_rotated',
  'key_revoked',
  'account_created',
  'account_deleted',
  'account_exported',
  'password_reset_sent',
  'sessions_revoked',
  'payment_refunded',
  'payment_resolved',
  'code_created',
  'code_disabled',
  'debt_forgiven',
  'credits_deducted',
  'account_viewed',
  'mail_discarded',
  'actions_exported',
  'banner_set',
  'banner_removed',
]

const ADDED = ['webhook_created', 'webhook_changed', 'webhook_rotated', 'webhook_removed']

const allow = (db: Knex, actions: readonly string[]) =>
  db.raw(`
    ALTER TABLE operator_actions DROP CONSTRAINT operator_actions_action_known;
    ALTER TABLE operator_actions ADD CONSTRAINT operator_actions_action_known
      CHECK (action IN (${actions.map((action) => `'${action}'`).join(', ')})) NOT VALID`)

const validate = (db: Knex) => db.raw('ALTER TABLE operator_actions VALIDATE CONSTRAINT operator_actions_action_known')

export async function up(db: Knex): Promise<void> {
  await allow(db, [...BEFORE, ...ADDED])
  await validate(db)
}

/** The log keeps what was recorded meanwhile: the narrower list is then for new rows alone. */
export async function down(db: Knex): Promise<void> {
  await allow(db, BEFORE)
  if (!(await db('operator_actions').whereIn('action', ADDED).first('id'))) await validate(db)
}
