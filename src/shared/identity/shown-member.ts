/** A member as owner and admins see them, with their budget. */
import type { UserId } from '../platform/ids.ts'
import { publicId } from '../platform/ids.ts'
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { BudgetRow, ShownBudget } from './budgets.ts'
import { BUDGET_COLUMNS, JOIN_WINDOW, presentBudget } from './budgets.ts'
import type { MemberRole, Seen } from './members.ts'

/** A member. `budget` is null if they have none; an owner never has one. */
export type Member = {
  id: string
  email: string
  displayName: string
  role: MemberRole
  budget: ShownBudget | null
  joinedAt: string
}

type MemberRow = BudgetRow & {
  user_id: UserId
  email: string
  display_name: string
  role: MemberRole
  created_at: Date
}

/** The members of an account, or the one that is seen; the owner first, then in the order in which they came. */
export async function listMembers(db: Db | Trx, { accountId, memberId }: Seen): Promise<Member[]> {
  const { rows } = await db.raw<{ rows: MemberRow[] }>(
    `
    SELECT m.user_id, u.email, u.display_name, m.role, m.created_at, ${BUDGET_COLUMNS}
    FROM members m JOIN users u ON u.id = m.user_id
    LEFT JOIN budgets b ON b.account_id = m.account_id AND b.user_id = m.user_id ${JOIN_WINDOW}
    WHERE m.account_id = :accountId ${memberId ? 'AND m.user_id = :memberId' : ''}
    ORDER BY m.role = 'owner' DESC, m.created_at, m.user_id`,
    { accountId, ...(memberId && { memberId }) },
  )
  return rows.map((row) => ({
    id: publicId('user', row.user_id),
    email: row.email,
    displayName: row.display_name,
    role: row.role,
    budget: presentBudget(row),
    joinedAt: row.created_at.toISOString(),
  }))
}
