/**
 * Webhooks in answers and requests.
 */
import { z } from 'zod'
import type { Config } from '../../shared/platform/config/config.ts'
import { MAX_RECEIVER_LENGTH, receiverProblem } from '../../shared/webhooks/addresses.ts'
import { DELIVERY_STATUSES } from '../../shared/webhooks/deliveries.ts'
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
      .enum(['not_allowed', 'no_answer', 'refused', 'no_secret'])
      .nullable()
      .meta({
        description:
          'Why the last try was no success: its address may not be reached, nothing answered within 15 s, it was ' +
          'answered with another status than 2xx, or the secret cannot be read and is to be rotated.',
      }),
    createdAt: time,
    nextTryAt: time.nullable(),
    finishedAt: time.nullable(),
  })
  .meta({ id: 'WebhookDelivery' })

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
