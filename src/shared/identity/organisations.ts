/**
 * Organisations: accounts that several people act for. Its founder is its owner. Everything of the money is as
 * with any account.
 */
import { ApiError } from '../platform/errors.ts'
import type { AccountId, UserId } from '../platform/ids.ts'
import { newId, publicId } from '../platform/ids.ts'
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { LiveSession } from './sessions.ts'
import { lockUserOf } from './sessions.ts'
import type { AccountKind } from './accounts.ts'
import { openAccount } from './accounts.ts'
import type { MemberRole, Membership } from './members.ts'
import { addMember } from './members.ts'

/** An organisation, and what somebody may do for it. */
export type Organisation = { id: string; name: string; role: MemberRole }

/** An account that a user may act for. `name`: an organisation's; of their own account the display name. */
export type ActedFor = { id: string; name: string; kind: AccountKind; role: MemberRole }

/** The most organisations that one person owns at a time, and that they make in 24 hours, deleted ones too. */
const MOST_OWNED = 100
const MOST_A_DAY = 20

/**
 * Makes an organisation without credits; the user becomes its owner.
 * @throws ApiError conflict, rate_limited if they have made too many; unauthorized if the session has ended.
 */
export async function createOrganisation(db: Db, session: LiveSession, name: string): Promise<Organisation> {
  const accountId = newId('account')
  const { userId } = session
  return db.transaction(async (trx) => {
    // Locked, so that organisations which are made at the same time count each other.
    await lockUserOf(trx, session)
    await refuseTooMany(trx, userId)
    await openAccount(trx, accountId, { kind: 'organisation', name })
    await addMember(trx, { userId, accountId }, 'owner')
    return { id: publicId('account', accountId), name, role: 'owner' }
  })
}

async function refuseTooMany(trx: Trx, userId: UserId): Promise<void> {
  const { rows } = await trx.raw<{ rows: { owned: number; waitSeconds: number | null }[] }>(
    `
    SELECT count(*) FILTER (WHERE acc.deleted_at IS NULL) AS owned,
      (array_agg(ceil(extract(epoch FROM acc.created_at - now()) + 86400)::integer ORDER BY acc.created_at DESC))
        [${MOST_A_DAY}] AS "waitSeconds"
    FROM members m JOIN accounts acc ON acc.id = m.account_id AND acc.kind = 'organisation'
    WHERE m.user_id = ? AND m.role = 'owner'`,
    [userId],
  )
  const { owned, waitSeconds } = rows[0]!
  if (owned >= MOST_OWNED) {
    throw new ApiError('conflict', { message: `You own ${MOST_OWNED} organisations. Delete one first.` })
  }
  if (waitSeconds !== null && waitSeconds > 0) {
    const message = `You can make at most ${MOST_A_DAY} organisations a day.`
    throw new ApiError('rate_limited', { message, retryAfterSeconds: waitSeconds })
  }
}

type ActedForRow = { id: AccountId; name: string; kind: AccountKind; role: MemberRole }

/** The accounts that a user may act for: their own, then organisations in the order in which they came to them. */
export async function accountsActedFor(db: Db | Trx, userId: UserId): Promise<(ActedFor & { accountId: AccountId })[]> {
  const { rows } = await db.raw<{ rows: ActedForRow[] }>(
    `
    SELECT acc.id, CASE WHEN acc.kind = 'personal' THEN u.display_name ELSE acc.name END AS name, acc.kind, m.role
    FROM members m JOIN accounts acc ON acc.id = m.account_id JOIN users u ON u.id = m.user_id
    WHERE m.user_id = ? AND acc.deleted_at IS NULL
    ORDER BY acc.kind = 'personal' DESC, m.created_at, acc.id`,
    [userId],
  )
  return rows.map(({ id, ...row }) => ({ ...row, id: publicId('account', id), accountId: id }))
}

/** The organisation that somebody acts for; null if it is their own account. */
export async function organisationOf(db: Db | Trx, { userId, accountId }: Membership): Promise<Organisation | null> {
  const row = await db('members')
    .join('accounts', 'accounts.id', 'members.account_id')
    .where({ 'members.user_id': userId, 'members.account_id': accountId, 'accounts.kind': 'organisation' })
    .whereNull('accounts.deleted_at')
    .first<{ name: string; role: MemberRole } | undefined>('accounts.name', 'members.role')
  return row ? { id: publicId('account', accountId), ...row } : null
}

/** The name of an organisation that a user owns, and that was not deleted; null if they own none. */
export async function anyOwnedOrganisation(trx: Trx, userId: UserId): Promise<string | null> {
  const row = await trx('members')
    .join('accounts', 'accounts.id', 'members.account_id')
    .where({ 'members.user_id': userId, 'members.role': 'owner', 'accounts.kind': 'organisation' })
    .whereNull('accounts.deleted_at')
    .orderBy('accounts.id')
    .first<{ name: string } | undefined>('accounts.name')
  return row?.name ?? null
}
