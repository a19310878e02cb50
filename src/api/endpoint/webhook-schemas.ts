/**
 * Webhooks in answers and requests.
 */
import { z } from 'zod'
import type { Config } from '../../shared/platform/config/config.ts'
import { MAX_RECEIVER_LENGTH, receiverProblem } from '../../shared/webhooks/addresses.ts'
import { DELIVERY_STATUSES } from '../../shared/webhooks/deliveries.ts'
import { FAILURE_NOTES } from '../../shared/webhooks/tries.ts'
import { DISABLED_REASONS, LISTED_TYPES, OPERATOR_TYPES } from '../../shared/webhooks/types.ts'
import { fieldRefusal } from '../../shared/platform/field-errors.ts'
import { id, listOf, ok, pageOf, time } from './answer-schemas.ts'

const url = z
  .string('url must be a text.')
  .min(1, 'url must not be empty.')
  .max(MAX_RECEIVER_LENGTH, `url must have at most ${MAX_RECEIVER_LENGTH} characters.`)
  .meta({ description: 'An https address of the public internet, on port 443 or one above 1023.' })

const typesAmong = <const Type extends string>(listed: readonly Type[]) =>
  z
    .array(z.enum(listed, `must be one of ${listed.join(', ')}`), 'types must be a list.')
    .min(1, 'types must list at least one type.')
    .max(listed.length, 'types lists a type twice.')
    .refine((list) => new Set(list).size === list.length, 'types lists a type twice.')

const types = typesAmong(LISTED_TYPES).meta({
  description: '`chat` adds the events of chats whose client waits for the answer to those of `call.…` that it lists.',
})

/** Asks for a webhook. */
export const newWebhookBody = z.object({ url, types }).meta({ id: 'WebhookRequest' })

/** Asks for a change of a webhook. */
export const webhookChangesBody = z
  .object({
    url: url.optional(),
    types: types.optional(),
    disabled: z
      .boolean('disabled must be true or false.')
      .optional()
      .meta({ description: '`false` enables it again: what waited is sent then. `true` holds what waits.' }),
  })
  .meta({ id: 'WebhookChanges', description: 'Absent fields stay as they are.' })

/** Asks for a webhook of the operators'. */
export const operatorsWebhookBody = z
  .object({ url, types: typesAmong(OPERATOR_TYPES) })
  .meta({ id: 'OperatorsWebhookRequest' })

/** Asks for a webhook of the operators' to be disabled or enabled. */
export const operatorsWebhookSwitch = z
  .object({ disabled: z.boolean('disabled must be true or false.') })
  .meta({ id: 'OperatorsWebhookSwitch', description: '`false` enables it again: what waited is sent then.' })

/** A webhook. */
const shownWebhook = z
  .strictObject({
    id: id('wh'),
    url: z.string(),
    types: z.array(z.string()),
    createdAt: time,
    disabledAt: time.nullable(),
    disabledReason: z.enum(DISABLED_REASONS).nullable().meta({
      description: '`gone`: its receiver answered 410. `failing`: no success for five days.',
    }),
    failingSince: time.nullable().meta({ description: 'The first failed try since the last success.' }),
  })
  .meta({ id: 'Webhook' })

const secret = z
  .string()
  .regex(/^whsec_[A-Za-z0-9+/]+=*$/)
  .meta({ description: 'The signing secret, shown only this once.' })

const shownDelivery = z
  .strictObject({
    id: id('whd'),
    event: id('evt').meta({ description: 'The event: `webhook-id` of each of its tries.' }),
    type: z.string(),
    url: z.string().nullable().meta({ description: 'Where a call wanted its event; null: at the webhook.' }),
    status: z.enum(DELIVERY_STATUSES).meta({ description: '`held`: it waits until its webhook is enabled.' }),
    tries: z.int(),
    answerStatus: z.int().nullable().meta({ description: 'The HTTP status of the last try; null: no answer.' }),
    answerMs: z.int().nullable().meta({ description: 'How long the last try took, in milliseconds.' }),
    note: z
      .enum(FAILURE_NOTES)
      .nullable()
      .meta({
        description:
          'Why the last try was no success: nothing may be sent to the address; its name does not resolve; there is ' +
          'no connection; its certificate is not valid; no answer within 15 s; the connection broke off; another ' +
          'status than 2xx; the secret cannot be read and is to be rotated.',
      }),
    createdAt: time,
    nextTryAt: time.nullable(),
    finishedAt: time.nullable(),
  })
  .meta({ id: 'WebhookDelivery' })

/** A delivery with what was sent, and all that was answered. */
export const deliveryDetailsAnswer = z.strictObject({
  ok,
  delivery: shownDelivery,
  sent: z.strictObject({
    url: z.string(),
    headers: z.record(z.string(), z.string()).meta({
      description: 'Without `webhook-timestamp` and `webhook-signature`, which are made for each try.',
    }),
    body: z.string().meta({ description: 'The bytes of every try.' }),
  }),
  tries: z
    .array(
      z
        .strictObject({
          at: time,
          status: z.int().nullable(),
          ms: z.int().nullable(),
          note: z.enum(FAILURE_NOTES).nullable().meta({ description: 'Null for a success.' }),
          answer: z.string().nullable().meta({ description: 'How the answer began, of a failure.' }),
        })
        .meta({ id: 'WebhookTry' }),
    )
    .meta({ description: 'The newest 50, newest first.' }),
})

/** A webhook as it is now. */
export const webhookAnswer = z.strictObject({ ok, webhook: shownWebhook })
/** A webhook that was made. */
export const newWebhookAnswer = z.strictObject({ ok, webhook: shownWebhook, secret })
/** All webhooks. */
export const webhooksAnswer = listOf(shownWebhook)
/** A page of deliveries. */
export const deliveriesAnswer = pageOf(shownDelivery)
/** A secret that was made. */
export const secretAnswer = z.strictObject({ ok, secret })
/** A delivery that was asked for. */
export const deliveryAnswer = z.strictObject({ ok, delivery: id('whd') })

/** @throws ApiError invalid_request for an address that no event may be sent to */
export function checkReceiver(
  address: string | undefined,
  { WEBHOOK_ALLOW_PRIVATE }: Pick<Config, 'WEBHOOK_ALLOW_PRIVATE'>,
): void {
  const problem = address === undefined ? null : receiverProblem(address, WEBHOOK_ALLOW_PRIVATE === 'on')
  if (problem !== null) throw fieldRefusal('url', problem)
}
