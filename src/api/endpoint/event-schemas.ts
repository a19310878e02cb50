/**
 * What webhooks are sent, by the type of the event: for the OpenAPI document, and for tests, which hold every event
 * that is written against it.
 */
import { z } from 'zod'
import { MODALITIES } from '../../shared/terms/kinds.ts'
import type { EVENT_TYPES, OPERATOR_TYPES, TEST_TYPE } from '../../shared/webhooks/types.ts'
import { credits, id, time } from './answer-schemas.ts'

const call = z.strictObject({
  call: id('call').meta({ description: 'Its result is at `GET /v1/calls/{id}`.' }),
  status: z.enum(['succeeded', 'failed']),
  model: z.string(),
  modality: z.enum(MODALITIES),
  pictures: z.int().nullable().meta({ description: 'Images: how many were delivered; null of other calls.' }),
  credits: credits.meta({ description: 'What it cost.' }),
  balance: credits,
  error: z.string().nullable().meta({ description: 'The code of its error, where it failed.' }),
})

const payment = z.strictObject({
  payment: id('pay'),
  status: z.string(),
  credits,
  amountMinor: z.int(),
  refundedMinor: z.int(),
  disputedMinor: z.int(),
  currency: z.string(),
})

const key = z.strictObject({ key: id('key'), name: z.string() })

const account = id('acc').meta({ description: 'Whose it is.' })

const lostCall = z.strictObject({
  call: id('call'),
  account,
  status: z.literal('failed'),
  model: z.string(),
  modality: z.enum(MODALITIES),
  refunded: credits.meta({ description: 'What was given back.' }),
  error: z.string().meta({ description: 'The code of its error.' }),
})

const upstream = z.string().meta({ description: 'Its name in the catalogue.' })

type Described = { summary: string; data: z.ZodType }

const OF_ACCOUNTS: Record<(typeof EVENT_TYPES)[number] | typeof TEST_TYPE, Described> = {
  'call.succeeded': { summary: 'A call has succeeded', data: call },
  'call.failed': { summary: 'A call has failed, and was refunded', data: call },
  'balance.low': {
    summary: 'The balance fell below the mark of the account',
    data: z.strictObject({ balance: credits, below: credits }),
  },
  'budget.exceeded': {
    summary: 'The budget of a key or a member is spent',
    data: z.strictObject({
      budget: id('budget'),
      key: id('key').optional().meta({ description: 'The key whose budget it is.' }),
      member: id('usr').optional().meta({ description: 'The member whose budget it is.' }),
      credits,
      used: z.int(),
      startsAt: time.nullable().meta({ description: 'When its period began; null for `total`.' }),
    }),
  },
  'payment.succeeded': { summary: 'A payment was made, and its credits granted', data: payment },
  'payment.refunded': { summary: 'A payment, or part of it, was refunded', data: payment },
  'payment.disputed': { summary: 'A payment is disputed', data: payment },
  'key.created': { summary: 'An API key was made', data: key },
  'key.revoked': { summary: 'An API key was revoked', data: key },
  'credits.expiring': {
    summary: 'Credits expire within seven days',
    data: z.strictObject({ grant: id('grant'), credits, expiresAt: time }),
  },
  'webhook.test': { summary: 'A test that its owner asked for', data: z.strictObject({ webhook: id('wh') }) },
}

const OF_OPERATORS: Record<(typeof OPERATOR_TYPES)[number], Described> = {
  'payment.disputed': { summary: 'A payment of any account is disputed', data: payment.extend({ account }) },
  'payment.review': { summary: "A payment needs an operator's decision", data: payment.extend({ account }) },
  'mail.dead': {
    summary: 'A mail was given up',
    data: z.strictObject({ mail: id('mail'), kind: z.string(), tries: z.int() }),
  },
  'upstream.unhealthy': { summary: 'The circuit of an upstream has opened', data: z.strictObject({ upstream }) },
  'upstream.recovered': {
    summary: 'An upstream whose circuit had opened works again',
    data: z.strictObject({ upstream, since: time.meta({ description: 'The minute in which it opened first.' }) }),
  },
  'upstream.key.failed': {
    summary: 'A key of an upstream is refused, or its account has no credit: it is not asked for now',
    data: z.strictObject({
      upstream,
      key: z.string().meta({ description: 'The name of the key in the catalogue.' }),
      reason: z.enum(['refused', 'no_credit']),
      until: time.meta({ description: 'When one call tests it.' }),
    }),
  },
  'reconciler.refunded': { summary: 'A call that no process worked on was refunded', data: lostCall },
}

const eventsOf = (described: Record<string, Described>) =>
  Object.entries(described).map(([type, { summary, data }]) => ({
    type,
    summary,
    body: z.strictObject({ type: z.literal(type), timestamp: time, data }),
  }))

/** Every event of accounts: its summary, and the schema of its body. */
export const EVENTS = eventsOf(OF_ACCOUNTS)

/** The same of the operators'. */
export const OPERATORS_EVENTS = eventsOf(OF_OPERATORS)
