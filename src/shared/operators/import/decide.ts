/**
 * What an import changes of one account, by what is here already. It only adds: a balance that has fallen takes
 * nothing, nothing that is off is turned on, and what was changed or ended here stays so. Pure.
 */
import type { KnownOrigin } from '../../identity/import-origins.ts'
import { nameOf } from '../../identity/import-origins.ts'
import { MAX_GRANT_CREDITS } from '../../ledger/ledger.ts'
import type { KeyId } from '../../platform/ids.ts'
import type { Listed } from './plan.ts'
import type { PreparedAccount, PreparedKey, PreparedMember } from './prepare.ts'
import { NO_LOGIN } from './prepare.ts'

/** What is here of some accounts. `members`: by `memberName`. */
export type State = {
  /** What was imported before, by `nameOf`. */
  origins: ReadonlyMap<string, KnownOrigin>
  /** E-mail addresses of users, of those that were asked for. */
  emails: ReadonlySet<string>
  /** Hashes of keys, of those that were asked for. */
  hashes: ReadonlySet<string>
  members: ReadonlySet<string>
}

/** How a membership is named in a `State`. */
export const memberName = (accountId: string, userId: string | null): string => `${accountId} ${userId}`

/** The id of a member among the things of a source. */
export const memberId = (organisationId: string, userId: string): string => `${organisationId}/${userId}`

/** What is to be done with an account. */
export type Change = {
  account: PreparedAccount
  /** Null: it is made. */
  existing: KnownOrigin | null
  /** Of a new user; null: without a login. */
  email: string | null
  /** Credits to grant. */
  grant: number
  suspends: boolean
  members: PreparedMember[]
  keys: PreparedKey[]
  /** How many of its keys were imported before. */
  knownKeys: number
  /** Keys that were turned off there since: they are revoked. */
  revoked: KeyId[]
  /** Keys that were turned on there since: they stay revoked. */
  turnedOn: KeyId[]
}

/** What an import does with an account, and what it lists. `change` null: nothing. */
export type Decision = { change: Change | null; listed: Listed[] }

/** Decides what an import does with an account. */
export function decide(account: PreparedAccount, state: State): Decision {
  const { kind, theirId } = account
  const listed: Listed[] = []
  const list = (what: string, id: string, reason: string) => listed.push({ what, theirId: id, reason })
  const existing = state.origins.get(nameOf(kind, theirId)) ?? null
  const isGone = (userId: string): boolean => state.origins.get(nameOf('user', userId))?.isDeleted ?? false
  const whyNot = existing?.isDeleted
    ? 'the account was deleted here'
    : kind === 'organisation' && !existing && isGone(account.ownerId)
      ? 'the account of its owner was deleted here'
      : null
  if (whyNot !== null) {
    list(kind, theirId, whyNot)
    return { change: null, listed }
  }
  const email = kind === 'user' && !existing ? freeEmail(account.email, state) : null
  if (kind === 'user' && !existing && account.email !== null && email === null) {
    list('user', theirId, `an account here has this e-mail address: ${NO_LOGIN}`)
  }
  const members = kind === 'user' ? [] : newMembers(account, existing, state, isGone)
  const change: Change = {
    account,
    existing,
    email,
    grant: grantOf(account, existing, list),
    suspends: account.isOff && (!existing || (!existing.off && existing.status === 'active')),
    members,
    keys: [],
    knownKeys: 0,
    revoked: [],
    turnedOn: [],
  }
  for (const key of account.keys) {
    const known = state.origins.get(nameOf('key', key.theirId))
    if (known && key.isOff !== known.off) change[key.isOff ? 'revoked' : 'turnedOn'].push(known.keyId!)
    const why = known ? null : whyNoKey(key, change, state)
    if (known) change.knownKeys++
    else if (why === null) change.keys.push(key)
    else list('key', key.theirId, why)
  }
  return { change, listed }
}

const freeEmail = (email: string | null, { emails }: State): string | null =>
  email !== null && emails.has(email) ? null : email

function grantOf(
  { kind, theirId, credits }: PreparedAccount,
  existing: KnownOrigin | null,
  list: (what: string, theirId: string, reason: string) => void,
): number {
  const before = BigInt(existing?.granted ?? 0)
  const rise = credits - before
  if (rise < 0n) list('balance', theirId, `${before} credits were imported, and ${credits} are there: nothing is taken`)
  if (rise <= 0n) return 0
  if (rise <= BigInt(MAX_GRANT_CREDITS)) return Number(rise)
  list('balance', theirId, `${rise} credits of this ${kind} are above the maximum of a grant: nothing is granted`)
  return 0
}

/** Those who were not imported before, and are no members: one who was removed here stays so. */
const newMembers = (
  { theirId, members }: PreparedAccount,
  existing: KnownOrigin | null,
  { origins, members: there }: State,
  isGone: (userId: string) => boolean,
): PreparedMember[] =>
  members.filter(({ userId }) => {
    if (origins.has(nameOf('member', memberId(theirId, userId))) || isGone(userId)) return false
    const user = origins.get(nameOf('user', userId))
    return !existing || !user || !there.has(memberName(existing.accountId, user.userId))
  })

/** Why a key is not imported; null if it is. */
function whyNoKey(key: PreparedKey, { account, existing, members }: Change, state: State): string | null {
  if (state.hashes.has(key.hash)) return 'a key here is the same'
  if (account.kind === 'user') return null
  const user = state.origins.get(nameOf('user', key.memberId))
  const joins = members.some(({ userId }) => userId === key.memberId)
  const isOwner = !existing && key.memberId === account.ownerId
  const isMember =
    existing !== null && user !== undefined && state.members.has(memberName(existing.accountId, user.userId))
  return joins || isOwner || isMember ? null : `its user ${key.memberId} is no member of the organisation here`
}
