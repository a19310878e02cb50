/**
 * Keys in answers and requests, for their owners and for operators.
 */
import { z } from 'zod'
import type { Standing } from '../../shared/identity/account-limits.ts'
import { MAX_GRACE_SECONDS } from '../../shared/identity/api-keys.ts'
import { keyLimitFields, keyName } from '../../shared/identity/key-fields.ts'
import type { KeyChanges } from '../../shared/identity/key-limits.ts'
import { MODALITIES } from '../../shared/terms/kinds.ts'
import type { Offer } from '../../shared/catalogue/catalogue.ts'
import { ApiError } from '../../shared/platform/errors.ts'
import { nearestName } from '../../shared/platform/config/near-names.ts'
import type { WebDeps } from '../deps.ts'
import { id, listOf, ok, time, credits } from './answer-schemas.ts'
import type { RequestFacts } from './declaration.ts'
import { limitsOf } from './allowances.ts'
import { PERIODS } from '../../shared/identity/budgets.ts'

/** A budget, and what is used of it. */
export const shownBudget = z.strictObject({
  credits,
  period: z.enum(PERIODS),
  used: z.int().meta({ description: 'Credits of its calls in this period, pre-charges of open calls included.' }),
  remaining: z.int().meta({ description: 'Credits left; never negative.' }),
  resetsAt: time.nullable().meta({ description: 'When the next period begins; null for `total`.' }),
})

/** A key with its limits. */
export const shownKey = z
  .strictObject({
    id: id('key'),
    memberId: id('usr').meta({ description: 'The member whose it is.' }),
    name: z.string(),
    hint: z.string().meta({ description: 'Its first 7 and last 4 characters.' }),
    createdAt: time,
    lastUsedAt: time.nullable().meta({ description: 'When a call was last charged to it, to the minute.' }),
    revokedAt: time.nullable(),
    expiresAt: time.nullable(),
    models: z.array(z.string()).nullable(),
    modalities: z.array(z.enum(MODALITIES)).nullable(),
    allowedIps: z.array(z.string()).nullable().meta({ description: 'Ranges in CIDR notation.' }),
    rateLimit: z.int().nullable().meta({ description: 'Requests per minute.' }),
    maxOutstanding: z.int().nullable(),
    tokensPerMinute: z.int().nullable().meta({ description: 'Tokens of its calls in a window of 60 s.' }),
    budget: shownBudget.nullable(),
    previousSecretUntil: time.nullable().meta({ description: 'Until when the secret from before a rotation works.' }),
    secretEndedAt: time
      .nullable()
      .meta({ description: 'When an operator ended its secret: it is refused until its owner rotates it.' }),
  })
  .meta({ id: 'Key', description: 'A limit that is null does not apply.' })

/** Asks for a new key. */
export const newKeyBody = z.object({ name: keyName, ...keyLimitFields }).meta({ id: 'KeyRequest' })

/** Asks for a change of a key. */
export const keyChangesBody = z
  .object({ name: keyName.optional(), ...keyLimitFields })
  .meta({ id: 'KeyChanges', description: 'Absent fields stay as they are; null removes a limit.' })

/** Asks for a new secret of a key. */
const rotationBody = z
  .object({
    graceSeconds: z
      .int()
      .min(0)
      .max(MAX_GRACE_SECONDS)
      .default(0)
      .meta({ description: 'How long the previous secret still works.' }),
  })
  .meta({ id: 'KeyRotation' })

const secret = z
  .string()
  .regex(/^tg_[0-9A-Za-z]{40}$/)
  .meta({ description: 'The key itself, shown only this once.' })

const warnings = z.array(z.string()).optional().meta({
  description: 'Only where there are likely mistakes: a model that does not exist (yet), a misspelled field.',
})

/** A key that was changed. */
export const keyAnswer = z.strictObject({ ok, key: shownKey, warnings })

/** A key that was made. */
export const newKeyAnswer = z.strictObject({ ok, secret, key: shownKey, warnings })

/** A key with a new secret. */
const rotatedKeyAnswer = z.strictObject({ ok, secret, key: shownKey })

/** What endpoints that list keys answer, for owners and operators. */
export const listedKeys = {
  200: { description: 'The valid keys and the newest 1000 revoked ones, newest first.', schema: listOf(shownKey) },
}

/** What endpoints that rotate a key declare, for owners and operators. */
export const rotation = {
  method: 'post',
  description:
    'The key keeps its limits and gets a new secret. The previous one works for `graceSeconds` more, any earlier ' +
    'one stops working.',
  body: rotationBody,
  bodyIsOptional: true,
  answers: {
    200: { description: 'The key with its new secret, which is shown only this once.', schema: rotatedKeyAnswer },
  },
  errors: ['invalid_request'],
} as const

/**
 * Checks of limits that a schema cannot make.
 * @param standing of the account whose key it is; null if there is no such key @throws ApiError invalid_request.
 */
export function checkLimits(
  deps: Pick<WebDeps, 'config' | 'catalogue'>,
  standing: Standing | null,
  { rateLimit }: KeyChanges,
): void {
  if (rateLimit == null || standing === null) return
  const { rateLimit: most } = limitsOf(deps, standing)
  if (rateLimit <= most) return
  throw new ApiError('invalid_request', {
    param: 'rateLimit',
    message: `rateLimit must be at most that of the account, ${most}.`,
  })
}

const FIELDS = Object.keys(keyChangesBody.shape)

/** How many fields of a body are checked for misspellings: a body of 1 MB can have a hundred thousand. */
const MOST_FIELDS = 30

/**
 * The warnings about likely mistakes, if there are any: about fields that resemble one of a key,
 * since nothing reads them, and the missing limit would go unnoticed; and about models that the account is not offered,
 * which are allowed, since the catalogue changes.
 */
export function warningsOf(
  { models }: KeyChanges,
  { sentFields }: RequestFacts,
  offer: Offer,
): { warnings?: string[] } {
  const misspelled = sentFields()
    .slice(0, MOST_FIELDS)
    .flatMap((field) => {
      const meant = nearestName(field, FIELDS)
      return meant === null ? [] : [`The field "${field}" is unknown and has no effect. Did you mean ${meant}?`]
    })
  const missing = (models ?? []).filter((id) => !offer.models.has(id))
  const warnings = [...misspelled, ...missing.map((id) => `There is no model "${id}" at the moment.`)]
  return warnings.length > 0 ? { warnings } : {}
}
