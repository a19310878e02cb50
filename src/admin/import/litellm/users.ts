/** Users of litellm, which has no wallet: the rules decide what they are granted. */
import type { z } from 'zod'
import type { PlannedUser } from '../../../shared/operators/import/plan.ts'
import type { Exact } from '../exact.ts'
import { ZERO, minus, plus } from '../exact.ts'
import { creditsOf } from '../rules.ts'
import type { ImportRules } from '../rules.ts'
import type { Reading } from '../tables.ts'
import { rowsOf } from '../tables.ts'
import { plannedLimits } from './budgets.ts'
import { USERS } from './tables.ts'

/** A row of users. */
export type User = z.output<typeof USERS.schema>

const BCRYPT = /^\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}$/

/** Roles of operators there. */
const OPERATORS = new Set(['proxy_admin', 'proxy_admin_viewer'])

/** What a user may still spend there, in dollars; null if that is not limited. */
const restOf = ({ max_budget: most, spend }: User): Exact | null => most && minus(most, spend)

/** What a user is granted, by the rules. */
function grantOf(user: User, rules: ImportRules, list: (reason: string) => void): bigint {
  const { grant } = rules
  const { max_budget: most, budget_duration: duration } = user
  if (grant !== 'rest') {
    if (most) list('its budget is not imported: the rules grant no rest of it')
    return grant ?? 0n
  }
  const rest = restOf(user)
  if (!rest) list('it has no budget there: it is granted nothing')
  if (rest && duration !== null) list(`its budget begins anew every ${duration} there: only its rest is granted, once`)
  return rest ? creditsOf(rest, rules) : 0n
}

/** A user as planned. */
function plannedUser(user: User, rules: ImportRules, list: (reason: string) => void): PlannedUser {
  const { user_id: id, user_alias: alias, user_email: email, user_role: role, password, metadata } = user
  const { rateLimit, tokensPerMinute, maxOutstanding, isClosed } = plannedLimits(user)
  if (maxOutstanding !== null) list('its limit of parallel requests is not imported: use account set --outstanding')
  const isBcrypt = password !== null && BCRYPT.test(password)
  if (password && !isBcrypt) list('the password is not hashed by bcrypt: set a new one by mail')
  return {
    theirId: id,
    group: null,
    grantCredits: grantOf(user, rules, list),
    isSuspended: isClosed || metadata?.scim_active === false,
    rateLimit,
    tokensPerMinute,
    email: email?.trim() || null,
    name: alias?.trim() || email?.trim().replace(/@.*/, '') || id,
    bcrypt: isBcrypt ? password : null,
    isOperator: OPERATORS.has(role ?? ''),
  }
}

/** Every user by their id, as stored and as planned, and the sum of what they may still spend, in dollars. */
export async function readUsers(
  reading: Reading,
  rules: ImportRules,
): Promise<{ rows: Map<string, User>; users: PlannedUser[]; sum: Exact }> {
  const rows = new Map<string, User>()
  const users: PlannedUser[] = []
  let sum = ZERO
  for await (const user of rowsOf(reading, USERS)) {
    rows.set(user.user_id, user)
    users.push(
      plannedUser(user, rules, (reason) => reading.listed.push({ what: 'user', theirId: user.user_id, reason })),
    )
    sum = plus(sum, restOf(user) ?? ZERO)
  }
  return { rows, users, sum }
}
