/** Operator actions. Rows are added in the transaction of the change itself, and never changed. */
import type { Knex } from 'knex'
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { TimeOrder } from '../platform/postgres/time-order.ts'
import { TIME_ORDERS } from '../platform/postgres/time-order.ts'
import type { AccountId, ActionId, UserId } from '../platform/ids.ts'
import { CLOCKS_MS, firstIdAt, newId, publicId } from '../platform/ids.ts'

/** What the audit log has: everything that operators do, and what users change of how they sign in. */
export const ACTIONS = [
  'credits_granted',
  'credits_deducted',
  'account_viewed',
  'mail_discarded',
  'actions_exported',
  'banner_set',
  'banner_removed',
  'account_suspended',
  'account_activated',
  'account_limited',
  'role_changed',
  'account_grouped',
  'mail_revived',
  'catalogue_applied',
  'catalogue_rolled_back',
  'account_created',
  'account_deleted',
  'account_exported',
  'password_reset_sent',
  'sessions_revoked',
  'key_limited',
  'key_rotated',
  'key_revoked',
  'payment_refunded',
  'payment_resolved',
  'code_created',
  'code_disabled',
  'debt_forgiven',
  'webhook_created',
  'webhook_changed',
  'webhook_rotated',
  'webhook_removed',
  'upstream_key_disabled',
  'upstream_key_enabled',
  'upstream_key_tested',
  'totp_added',
  'totp_removed',
  'recovery_code_used',
  'second_factor_reset',
  'passkey_added',
  'passkey_removed',
  'passkey_refused',
  'identity_linked',
  'identity_removed',
  'login_link_made',
  'account_imported',
  'claim_link_made',
] as const
/** One of them. */
export type ActionKind = (typeof ACTIONS)[number]

/** The operator who acts; null for the command line. */
export type Operator = UserId | null

/** Details of an action: amounts in credits, notes, public ids. */
export type ActionDetails = Record<string, string | number | null>

/** An action as operators see it. Addresses are those of now; an account's is its owner's. */
export type OperatorAction = {
  id: string
  action: ActionKind
  operatorEmail: string | null
  accountId: string | null
  accountEmail: string | null
  details: ActionDetails
  createdAt: string
}

/** Records an action. */
export async function recordAction(
  trx: Trx,
  operator: Operator,
  action: ActionKind,
  accountId: AccountId | null,
  details: ActionDetails = {},
): Promise<void> {
  await trx('operator_actions').insert({
    id: newId('action'),
    operator_id: operator,
    action,
    account_id: accountId,
    details: JSON.stringify(details),
  })
}

type ActionRow = {
  id: ActionId
  action: ActionKind
  operator_email: string | null
  account_id: AccountId | null
  account_email: string | null
  details: ActionDetails
  created_at: Date
}

/** Which actions; an absent field keeps them all. `operatorId` null: of the command line. */
export type ActionFilter = {
  accountId?: AccountId | undefined
  operatorId?: UserId | null | undefined
  action?: ActionKind | undefined
  /** Only what changed something: no views. */
  changes?: boolean
  from?: Date
  before?: Date
  /** The newest first if absent. */
  sort?: TimeOrder
}

/** At most `limit` actions after `after`, or the first. */
export async function listActions(
  db: Db,
  filter: ActionFilter,
  limit: number,
  after: ActionId | null = null,
): Promise<OperatorAction[]> {
  const { direction, follows } = TIME_ORDERS[filter.sort ?? 'newest']
  const rows = await db('operator_actions as action')
    .leftJoin('users as operator', 'operator.id', 'action.operator_id')
    .leftJoin('members as owner', (on) =>
      on.on('owner.account_id', 'action.account_id').andOnVal('owner.role', 'owner'),
    )
    .leftJoin('users as account', 'account.id', 'owner.user_id')
    .modify((query) => narrow(query, filter))
    .modify((query) => {
      if (after) void query.where('action.id', follows, after)
    })
    .orderBy('action.id', direction)
    .limit(limit)
    .select<ActionRow[]>(
      'action.id',
      'action.action',
      'operator.email as operator_email',
      'action.account_id',
      'account.email as account_email',
      'action.details',
      'action.created_at',
    )
  return rows.map(presentAction)
}

function narrow(query: Knex.QueryBuilder, { accountId, operatorId, action, changes, from, before }: ActionFilter) {
  if (accountId) void query.where('action.account_id', accountId)
  if (operatorId) void query.where('action.operator_id', operatorId)
  if (operatorId === null) void query.whereNull('action.operator_id')
  if (action) void query.where('action.action', action)
  if (changes) void query.whereNot('action.action', 'account_viewed')
  if (from) void query.where('action.created_at', '>=', from)
  if (from) void query.where('action.id', '>=', firstIdAt('action', from.getTime() - CLOCKS_MS))
  if (before) void query.where('action.created_at', '<', before)
  if (before) void query.where('action.id', '<', firstIdAt('action', before.getTime() + CLOCKS_MS))
}

const presentAction = (row: ActionRow): OperatorAction => ({
  id: publicId('action', row.id),
  action: row.action,
  operatorEmail: row.operator_email,
  accountId: row.account_id && publicId('account', row.account_id),
  accountEmail: row.account_email,
  details: row.details,
  createdAt: row.created_at.toISOString(),
})
