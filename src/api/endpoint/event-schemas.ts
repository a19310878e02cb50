/**
 * What webhooks are sent, by the type of the event: for the OpenAPI document, and for tests, which hold every event
 * that is written against it.
 */
import { z } from 'zod'
import { MODALITIES } from '../../shared/calls/lifecycle.ts'
import type { EVENT_TYPES, TEST_TYPE } from '../../shared/webhooks/types.ts'
import { credits, id, time } from './answer-schemas.ts'

const call = z.strictObject({
  call: id('call').meta({ description: 'Its result is at `GET /v1/calls/{id}`.' }),
  status: z.enum(['succeeded', 'failed']),
  model: z.string(),
  modality: z.enum(MODALITIES),
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

const DATA: Record<(typeof EVENT_TYPES)[number] | typeof TEST_TYPE, { summary: string; data: z.ZodType }> = {
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

/** Every event: its summary, and the schema of its body. */
export const EVENTS = Object.entries(DATA).map(([type, { summary, data }]) => ({
  type,
  summary,
  body: z.strictObject({ type: z.literal(type), timestamp: time, data }),
}))
