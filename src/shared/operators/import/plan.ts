/**
 * What another gateway's database contains, in our terms: its reader writes it, and `importPlan` applies it. Ids are
 * theirs, as text: stable, and unique among users, organisations and keys each. Credits are exact whole numbers.
 */
import type { Period } from '../../identity/budgets.ts'

/** The gateways that can be imported. */
export const IMPORT_KINDS = ['litellm', 'new-api', 'one-api'] as const

/** A gateway that can be imported. */
export type ImportKind = (typeof IMPORT_KINDS)[number]

/** A budget, and what was spent of it in the period that is running. */
export type PlannedBudget = { credits: bigint; period: Period; spentCredits: bigint }

/** What users and organisations have in common: an account. Null: no limit, or none of its own. */
type PlannedAccount = {
  theirId: string
  /** Their group, if its name is to be one here; the account is then in the group of that name. */
  group: string | null
  /** All the credits that they have there now: may be negative, or above the maximum of a grant. */
  grantCredits: bigint
  /** Whether it may not call: the account is then suspended. */
  isSuspended: boolean
  rateLimit: number | null
  tokensPerMinute: number | null
}

/** A person with an account of their own, from which they pay. */
export type PlannedUser = PlannedAccount & {
  /** As stored there; null or invalid: an account without a login. */
  email: string | null
  name: string
  /** A bcrypt hash (`$2a$`, `$2b$` or `$2y$`) of their password; null if there is none. */
  bcrypt: string | null
  /** Listed, and never granted. */
  isOperator: boolean
}

/** A member of an organisation, other than its owner. */
export type PlannedMember = { userId: string; role: 'admin' | 'member'; budget: PlannedBudget | null }

/** A team or an organisation. One without an owner is listed by the reader instead. */
export type PlannedOrganisation = PlannedAccount & { name: string; ownerId: string; members: readonly PlannedMember[] }

/** An API key, of a user's own account or of an organisation. */
export type PlannedKey = {
  theirId: string
  /** Whose account pays. */
  account: { userId: string } | { organisationId: string }
  /** The user who holds it: ignored for a user's own account; null: the owner of the organisation. */
  memberId: string | null
  name: string
  /** SHA-256 of the whole key, `sk-` included, in hex. */
  hash: string
  /** What the key is recognised by in lists: at most its last four characters. */
  hint: string
  expiresAt: Date | null
  models: readonly string[] | null
  /** Addresses or CIDR ranges. */
  networks: readonly string[] | null
  rateLimit: number | null
  tokensPerMinute: number | null
  maxOutstanding: number | null
  budget: PlannedBudget | null
  /** Turned off there: blocked, disabled, exhausted or deleted. It is then revoked here. */
  isDisabled: boolean
}

/** What is not imported as it is, and why: a sentence. `what`: a noun, such as `key`, `budget` or `channel`. */
export type Listed = { what: string; theirId: string; reason: string }

/** What is to be imported. */
export type ImportPlan = {
  users: readonly PlannedUser[]
  organisations: readonly PlannedOrganisation[]
  keys: readonly PlannedKey[]
  /** The exceptions that the reader has found. */
  listed: readonly Listed[]
  /** The sum of their balances in their own unit (`quota`, `USD`): an exact decimal number. */
  theirSum: { amount: string; unit: string }
}
