/**
 * What operators see of accounts and of each other's actions.
 */
import { z } from 'zod'
import { ACTIONS } from '../../shared/action-log/actions.ts'
import { id, role, time, user } from '../endpoint/answer-schemas.ts'

/** The name of an account, where its address alone does not tell it from others. */
export const accountName = z.string().meta({
  description: "An organisation's name; empty for a person's own account.",
})

/** An account, as operators see it. */
export const operatedAccount = user
  .extend({
    kind: z.enum(['personal', 'organisation']),
    name: accountName,
    status: z.enum(['active', 'suspended']),
    role,
    group: z.string().nullable().meta({ description: 'Its group of the catalogue; null if it is in none.' }),
    limits: z
      .strictObject({
        rateLimit: z.int().nullable(),
        maxOutstanding: z.int().nullable(),
        tokensPerMinute: z.int().nullable(),
      })
      .meta({
        description: "Limits of its own. Of a kind that is null it has its group's or the usual limit, of tokens none.",
      }),
  })
  .meta({ id: 'OperatedAccount' })

/** An account in a list. */
export const listedAccount = operatedAccount
  .extend({
    debt: z.int().meta({ description: 'Credits that it owes.' }),
    lastCallAt: time.nullable().meta({ description: 'Its last charged call, to the minute.' }),
  })
  .meta({ id: 'ListedAccount' })

/** A row of the audit log. */
export const operatorAction = z
  .strictObject({
    id: id('act'),
    action: z.enum(ACTIONS),
    operatorEmail: z.string().nullable().meta({ description: 'The operator; null for the command line.' }),
    accountId: id('acc').nullable(),
    accountEmail: z.string().nullable(),
    accountName: accountName.nullable(),
    details: z
      .record(z.string(), z.union([z.string(), z.number(), z.null()]))
      .meta({ description: 'Details: amounts in credits, notes, ids.' }),
    createdAt: time,
  })
  .meta({ id: 'OperatorAction' })

/** A request to an upstream for a call. */
export const attempt = z
  .strictObject({
    upstream: z.string(),
    key: z.string().nullable().meta({ description: 'The name of the key that it was asked with.' }),
    status: z.int().nullable().meta({ description: 'Of HTTP; null if the upstream did not answer.' }),
    error: z.string().nullable().meta({
      description: "The kind of the failure, and the upstream's words without its keys; deleted after seven days.",
    }),
    ms: z.int(),
    at: time,
  })
  .meta({ id: 'UpstreamAttempt' })
