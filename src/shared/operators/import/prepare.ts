/**
 * What of a plan can be imported at all, whatever is here: names and limits in the form that they have here, and what
 * has no such form listed. A key is never imported with more rights than it has there. Pure.
 */
import { keyLimitFields } from '../../identity/key-fields.ts'
import type { KeyChanges } from '../../identity/key-limits.ts'
import { NO_PASSWORD, isImportedHash } from '../../identity/passwords.ts'
import type { Budget } from '../../identity/budgets.ts'
import type { GivenRole } from '../../identity/members.ts'
import { parseEmail } from '../../terms/emails.ts'
import { shownName } from '../../platform/text-fields.ts'
import type {
  ImportPlan,
  Listed,
  PlannedBudget,
  PlannedKey,
  PlannedMember,
  PlannedOrganisation,
  PlannedUser,
} from './plan.ts'

/** A budget, and what was spent of it in the running period. */
export type PreparedBudget = Budget & { spent: number }

/** A member of an organisation, by their id there. */
export type PreparedMember = { userId: string; role: GivenRole; budget: PreparedBudget | null }

/** A key of an account. `memberId`: whose it is, by their id there. */
export type PreparedKey = {
  theirId: string
  memberId: string
  name: string
  hash: string
  hint: string
  isOff: boolean
  limits: Omit<KeyChanges, 'name' | 'budget'>
  budget: PreparedBudget | null
}

/** An account with all that is imported with it. `email`, `passwordHash`: of a user. `ownerId`: of an organisation. */
export type PreparedAccount = {
  theirId: string
  name: string
  group: string | null
  /** What they have there: not negative. */
  credits: bigint
  isOff: boolean
  rateLimit: number | null
  tokensPerMinute: number | null
  members: PreparedMember[]
  keys: PreparedKey[]
} & ({ kind: 'user'; email: string | null; passwordHash: string } | { kind: 'organisation'; ownerId: string })

/** Lists something that is not imported as it is. */
type List = (what: string, theirId: string, reason: string) => void

const MAX_NAME = 60
const MAX_ID = 400
const MAX_RATE = 1_000_000_000

/**
 * What can be imported of a plan, users before organisations, and all that is listed.
 * @param groups of the catalogue
 */
export function preparePlan(plan: ImportPlan, groups: ReadonlySet<string>): [PreparedAccount[], Listed[]] {
  const listed: Listed[] = [...plan.listed]
  const list: List = (what, theirId, reason) => listed.push({ what, theirId, reason })
  const users = once(plan.users, 'user', list)
  const emails = new Set<string>()
  const prepared: PreparedAccount[] = users.map((user) => ({
    ...accountOf('user', user, groups, list),
    ...loginOf(user, emails, list),
    kind: 'user' as const,
    name: shownNameOf(user.name),
  }))
  const known = new Set(users.map(({ theirId }) => theirId))
  for (const one of once(plan.organisations, 'organisation', list)) {
    if (!known.has(one.ownerId)) list('organisation', one.theirId, `its owner ${one.ownerId} is not imported`)
    else {
      prepared.push({
        ...accountOf('organisation', one, groups, list),
        kind: 'organisation',
        name: shownNameOf(one.name) || shownNameOf(one.name.replaceAll(/[.。:/@]/gu, ' ')).trim() || 'Organisation',
        ownerId: one.ownerId,
        members: membersOf(one, known, list),
      })
    }
  }
  addKeys(plan, prepared, list)
  return [prepared, listed]
}

/** Those with an id that can be stored, each once. */
function once<T extends { theirId: string }>(things: readonly T[], what: string, list: List): T[] {
  const seen = new Set<string>()
  return things.filter(({ theirId }) => {
    const isNew = !seen.has(theirId)
    seen.add(theirId)
    const isStorable = theirId.length >= 1 && theirId.length <= MAX_ID && !theirId.includes('\0')
    if (!isNew) list(what, theirId, 'there is another one with this id')
    if (!isStorable) list(what, theirId.slice(0, MAX_ID), `its id does not have 1 to ${MAX_ID} characters`)
    return isNew && isStorable
  })
}

function accountOf(
  what: 'user' | 'organisation',
  planned: PlannedUser | PlannedOrganisation,
  groups: ReadonlySet<string>,
  list: List,
) {
  const { theirId, group, grantCredits } = planned
  if (grantCredits < 0n) list('balance', theirId, `it is negative (${grantCredits} credits) and becomes 0`)
  const isGroup = group !== null && groups.has(group)
  if (group !== null && !isGroup) {
    list('group', theirId, `the catalogue has no group "${group}": apply one that has, then use admin account group`)
  }
  const limit = (name: 'rateLimit' | 'tokensPerMinute', most: number): number | null =>
    within(planned[name], most, what, theirId, list)
  return {
    theirId,
    group: isGroup ? group : null,
    credits: grantCredits > 0n ? grantCredits : 0n,
    isOff: planned.isSuspended,
    rateLimit: limit('rateLimit', MAX_RATE),
    tokensPerMinute: limit('tokensPerMinute', 1_000_000_000_000),
    members: [],
    keys: [],
  }
}

/** A limit of at least one. */
function within(value: number | null, most: number, what: string, theirId: string, list: List): number | null {
  if (value === null) return null
  if (value < 1) list('limit', theirId, `a limit of ${value} of this ${what} becomes 1`)
  return Math.min(most, Math.max(1, Math.floor(value)))
}

function loginOf(user: PlannedUser, emails: Set<string>, list: List): { email: string | null; passwordHash: string } {
  const { theirId, bcrypt } = user
  if (user.isOperator) list('operator', theirId, 'operator roles are not imported: use admin account role')
  const given = user.email?.trim() ?? ''
  const email = parseEmail(given)
  if (email === null) list('user', theirId, `${given === '' ? 'no' : 'an invalid'} e-mail address: ${NO_LOGIN}`)
  const isFree = email !== null && !emails.has(email)
  if (email !== null && !isFree) list('user', theirId, `another user there has the same e-mail address: ${NO_LOGIN}`)
  if (!isFree) return { email: null, passwordHash: NO_PASSWORD }
  emails.add(email)
  if (bcrypt === null) return { email, passwordHash: NO_PASSWORD }
  if (isImportedHash(bcrypt)) return { email, passwordHash: bcrypt }
  list('password', theirId, 'its hash is not bcrypt of cost 10: the user asks for a reset link')
  return { email, passwordHash: NO_PASSWORD }
}

/** What becomes of a user without an address of their own. */
export const NO_LOGIN = 'the account has no login until it is claimed (admin account claim)'

function membersOf(one: PlannedOrganisation, known: ReadonlySet<string>, list: List): PreparedMember[] {
  const seen = new Set([one.ownerId])
  return one.members.flatMap(({ userId, role, budget }: PlannedMember) => {
    const id = `${one.theirId}/${userId}`
    if (!known.has(userId)) list('member', id, 'the user is not imported')
    else if (seen.has(userId)) list('member', id, 'the user is the owner, or a member already')
    else {
      seen.add(userId)
      return [{ userId, role, budget: budgetOf(budget) }]
    }
    return []
  })
}

const MAX_BUDGET = BigInt(Number.MAX_SAFE_INTEGER)

/** A budget above what can be counted is none. */
function budgetOf(budget: PlannedBudget | null): PreparedBudget | null {
  if (budget === null || budget.credits > MAX_BUDGET) return null
  const whole = (credits: bigint): number => Number(credits < 0n ? 0n : credits > MAX_BUDGET ? MAX_BUDGET : credits)
  return { credits: whole(budget.credits), period: budget.period, spent: whole(budget.spentCredits) }
}

function addKeys(plan: ImportPlan, prepared: readonly PreparedAccount[], list: List): void {
  const accounts = new Map(prepared.map((account) => [`${account.kind} ${account.theirId}`, account]))
  const hashes = new Set<string>()
  for (const key of once(plan.keys, 'key', list)) {
    const whose = 'userId' in key.account ? `user ${key.account.userId}` : `organisation ${key.account.organisationId}`
    const account = accounts.get(whose)
    const why = account ? faultOf(key, account, hashes) : `its account (${whose}) is not imported`
    if (why !== null) list('key', key.theirId, why)
    else account!.keys.push(keyOf(key, account!, list))
    hashes.add(key.hash)
  }
}

const ownerOf = (account: PreparedAccount): string => (account.kind === 'user' ? account.theirId : account.ownerId)

/** Why a key is not imported; null if it is. */
function faultOf(key: PlannedKey, account: PreparedAccount, hashes: ReadonlySet<string>): string | null {
  if (!/^[0-9a-f]{64}$/.test(key.hash)) return 'its hash is not SHA-256 in hexadecimal'
  if (hashes.has(key.hash)) return 'another key there is the same'
  const ofOwner = account.kind === 'user' || key.memberId === null || key.memberId === account.ownerId
  if (!ofOwner && !account.members.some(({ userId }) => userId === key.memberId)) {
    return `its user ${key.memberId} is no member of the organisation`
  }
  for (const [field, value] of [
    ['models', key.models],
    ['allowedIps', key.networks],
  ] as const) {
    const { error } = keyLimitFields[field].safeParse(value)
    if (error) return `its ${field === 'models' ? 'models' : 'networks'} cannot be kept: ${error.issues[0]!.message}`
  }
  return null
}

function keyOf(key: PlannedKey, account: PreparedAccount, list: List): PreparedKey {
  const limit = (value: number | null, most: number) => within(value, most, 'key', key.theirId, list)
  return {
    theirId: key.theirId,
    memberId: account.kind === 'user' ? account.theirId : (key.memberId ?? ownerOf(account)),
    name: oneLine(key.name) || 'imported',
    hash: key.hash,
    hint: `sk-…${oneLine(key.hint).slice(-4)}`,
    isOff: key.isDisabled,
    limits: {
      models: keyLimitFields.models.parse(key.models),
      allowedIps: keyLimitFields.allowedIps.parse(key.networks),
      expiresAt: key.expiresAt,
      rateLimit: limit(key.rateLimit, MAX_RATE),
      maxOutstanding: limit(key.maxOutstanding, 1_000_000),
      tokensPerMinute: limit(key.tokensPerMinute, 1_000_000_000_000),
    },
    budget: budgetOf(key.budget),
  }
}

/** What of a text can be stored as one line of 60 characters. */
const oneLine = (text: string): string =>
  Array.from(text.toWellFormed().replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\u200B\u202A-\u202E\u2060\u2066-\u2069\uFEFF]/gu, ' '))
    .slice(0, MAX_NAME)
    .join('')
    .trim()

/** A name that others see; empty where it has something that such a name must not have. */
function shownNameOf(text: string): string {
  const name = oneLine(text)
  return shownName(MAX_NAME).safeParse(name).success ? name : ''
}
