import { hash } from 'node:crypto'
import type {
  ImportPlan,
  PlannedKey,
  PlannedOrganisation,
  PlannedUser,
} from '../../../../src/shared/operators/import/plan.ts'

const ON = { group: null, grantCredits: 0n, isSuspended: false, rateLimit: null, tokensPerMinute: null }

/** A user there. */
export const aPlannedUser = (theirId: string, fields: Partial<PlannedUser> = {}): PlannedUser => ({
  ...ON,
  theirId,
  email: `imported-${theirId}-${process.pid}@example.com`,
  name: '',
  bcrypt: null,
  isOperator: false,
  ...fields,
})

/** An organisation there. */
export const aPlannedOrganisation = (
  theirId: string,
  ownerId: string,
  fields: Partial<PlannedOrganisation> = {},
): PlannedOrganisation => ({ ...ON, theirId, ownerId, name: theirId, members: [], ...fields })

/** A key of a user there. */
export const anImportedKey = (userId: string, secret: string, fields: Partial<PlannedKey> = {}): PlannedKey => ({
  theirId: hash('sha256', secret, 'hex').slice(0, 8),
  account: { userId },
  memberId: null,
  name: 'a key',
  hash: hash('sha256', secret, 'hex'),
  hint: secret.slice(-4),
  expiresAt: null,
  models: null,
  networks: null,
  rateLimit: null,
  tokensPerMinute: null,
  maxOutstanding: null,
  budget: null,
  isDisabled: false,
  ...fields,
})

/** A plan of these things. */
export const aPlan = (fields: Partial<ImportPlan> = {}): ImportPlan => ({
  users: [],
  organisations: [],
  keys: [],
  listed: [],
  theirSum: { amount: '0', unit: 'quota' },
  ...fields,
})
