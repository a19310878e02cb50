/** Users, keys and balances of one-api and new-api, which count in quota, as a plan. */
import type { z } from 'zod'
import type { ImportPlan, PlannedBudget, PlannedKey, PlannedUser } from '../../../shared/operators/import/plan.ts'
import { hexHashOf } from '../../../shared/identity/api-keys.ts'
import { elementsOf } from '../columns.ts'
import type { Exact } from '../exact.ts'
import { dividedBy, exactOf, wholeNumber } from '../exact.ts'
import { importedLists } from '../key-lists.ts'
import { creditsOf } from '../rules.ts'
import type { ImportRules } from '../rules.ts'
import type { LeftOut, Reading } from '../tables.ts'
import { listLeftOut, rowsIfAny, rowsOf } from '../tables.ts'
import { OPTIONS, TOKENS, USERS } from './tables.ts'

type User = z.output<typeof USERS.schema>
type Token = z.output<typeof TOKENS.schema>

/** Values of `status` and `role`. A deleted user has a mark of time, or in one-api this status. */
const ON = 1n
const DELETED = 3n
const FIRST_OPERATOR = 10n

/** A key that is recognised here (docs/migrating.md#keys): a `-` ends it there. */
const KEY = /^[A-Za-z0-9_]{16,128}$/

const BCRYPT = /^\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}$/

/** After this many seconds a key counts as one that never expires: the year 3000. */
const NEVER = 32_503_680_000n

/** What a dollar is in quota if their options do not state it. */
const QUOTA_PER_DOLLAR = wholeNumber(500_000n)

/** Their settings by name. */
export async function readOptions(reading: Reading): Promise<Map<string, string>> {
  const options = new Map<string, string>()
  for await (const { key, value } of rowsIfAny(reading, OPTIONS)) options.set(key, value ?? '')
  return options
}

/** What a dollar is there, in quota. */
export function quotaPerDollar(options: ReadonlyMap<string, string>): Exact {
  const stated = exactOf(options.get('QuotaPerUnit') ?? '')
  return stated && stated.above > 0n ? stated : QUOTA_PER_DOLLAR
}

/** The credits of a quota, rounded down; of a negative one, too. */
type ToCredits = (quota: bigint) => bigint

const isDeleted = ({ status, deleted_at: at }: User): boolean => status === DELETED || at !== null

/** A user as planned. */
function plannedUser(user: User, toCredits: ToCredits, list: (reason: string) => void): PlannedUser {
  const { aff_quota: invitations, password, group } = user
  if (invitations !== null && invitations > 0n)
    list(`quota ${invitations} from invitations is not in the balance there, and is not imported`)
  const isBcrypt = password !== null && BCRYPT.test(password)
  if (password && !isBcrypt) list('the password is not hashed by bcrypt: set a new one by mail')
  return {
    theirId: user.id,
    group: group === '' || group === 'default' ? null : group,
    grantCredits: toCredits(user.quota),
    isSuspended: user.status !== ON,
    rateLimit: null,
    tokensPerMinute: null,
    email: user.email?.trim() || null,
    name: user.display_name?.trim() || user.username,
    bcrypt: isBcrypt ? password : null,
    isOperator: user.role >= FIRST_OPERATOR,
  }
}

/** What the key may still spend there. */
function budgetOf(
  { unlimited_quota: isUnlimited, remain_quota: rest }: Token,
  toCredits: ToCredits,
): PlannedBudget | null {
  if (isUnlimited) return null
  return { credits: rest < 0n ? 0n : toCredits(rest), period: 'total', spentCredits: 0n }
}

/** When it ends; null: never. */
const expiryOf = ({ expired_time: at }: Token): Date | null =>
  at === -1n || at >= NEVER ? null : new Date(Number(at < 0n ? 0n : at) * 1000)

/** The models that it may call: one-api and new-api have a column each. */
function modelsOf({ models, model_limits_enabled: isLimited, model_limits: limits }: Token): string[] | null {
  if (isLimited) return elementsOf(limits, /,/)
  const listed = elementsOf(models, /,/)
  return listed.length > 0 ? listed : null
}

/** A key as planned; null, and listed, for one that could not be recognised. */
function plannedKey(token: Token, toCredits: ToCredits, list: (reason: string) => void): PlannedKey | null {
  const key = token.key.trim()
  if (!KEY.test(key)) {
    list('behind "sk-" it does not have 16 to 128 letters and digits: it cannot be recognised')
    return null
  }
  if (token.group) list(`its own group "${token.group}" has no counterpart: it is priced as its account is`)
  const ranges = elementsOf(token.allow_ips ?? token.subnet, /[\s,]+/)
  const lists = importedLists({ models: modelsOf(token), networks: ranges.length > 0 ? ranges : null }, list)
  return {
    theirId: token.id,
    account: { userId: token.user_id },
    memberId: null,
    name: token.name?.trim() || `key ${token.id}`,
    hash: hexHashOf(`sk-${key}`),
    hint: key.slice(-4),
    expiresAt: expiryOf(token),
    models: lists.models,
    networks: lists.networks,
    rateLimit: null,
    tokensPerMinute: null,
    maxOutstanding: null,
    budget: budgetOf(token, toCredits),
    isDisabled: lists.isClosed || token.status !== ON || token.deleted_at !== null,
  }
}

/** The plan of a database of one-api or new-api. @throws CommandError if it is another one's */
export async function readQuotaPlan(
  reading: Reading,
  rules: ImportRules,
  leftOut: readonly LeftOut[],
): Promise<ImportPlan> {
  const perDollar = quotaPerDollar(await readOptions(reading))
  const toCredits = (quota: bigint): bigint => creditsOf(dividedBy(wholeNumber(quota), perDollar), rules)
  const listing = (what: string, theirId: string) => (reason: string) => reading.listed.push({ what, theirId, reason })
  const users: PlannedUser[] = []
  const keys: PlannedKey[] = []
  const deleted = new Set<string>()
  let sum = 0n
  for await (const user of rowsOf(reading, USERS)) {
    const list = listing('user', user.id)
    if (isDeleted(user)) {
      deleted.add(user.id)
      list('deleted there: neither the user nor their keys are imported')
      continue
    }
    users.push(plannedUser(user, toCredits, list))
    sum += user.quota
  }
  for await (const token of rowsOf(reading, TOKENS)) {
    const key = deleted.has(token.user_id) ? null : plannedKey(token, toCredits, listing('key', token.id))
    if (key) keys.push(key)
  }
  await listLeftOut(reading, leftOut)
  return { users, organisations: [], keys, listed: reading.listed, theirSum: { amount: String(sum), unit: 'quota' } }
}
