/**
 * /api/webhooks/:id/deliveries: what a webhook was sent, and what was answered.
 */
import { z } from 'zod'
import { ApiError } from '../../shared/platform/errors.ts'
import type { AccountId, DeliveryId, WebhookId } from '../../shared/platform/ids.ts'
import { parseId } from '../../shared/platform/ids.ts'
import { findDelivery, listDeliveries, redeliver } from '../../shared/webhooks/deliveries.ts'
import { EVENT_HEADERS } from '../../shared/webhooks/secrets.ts'
import type { Owner } from '../../shared/webhooks/webhooks.ts'
import type { WebDeps } from '../deps.ts'
import { done } from '../endpoint/answer-schemas.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { pageCursor, pageLimit, pathId } from '../endpoint/fields.ts'
import { deliveriesAnswer, deliveryDetailsAnswer } from '../endpoint/webhook-schemas.ts'
import { createCursors } from './cursors.ts'
import type { SendDeps } from './webhooks.ts'
import { declared, enqueue, onWebhook, requireEnabled, sends, webhookOf } from './webhooks.ts'

/** What the lists of deliveries declare. */
export const listsDeliveries = {
  method: 'get',
  query: z.object({ limit: pageLimit, cursor: pageCursor }),
  answers: { 200: { description: 'A page of the deliveries of 30 days, newest first.', schema: deliveriesAnswer } },
} as const

/** A page of a list, as its query asks for it. */
type Page = { cursor?: string | undefined; limit: number }

/** Reads pages of the deliveries of an owner's webhook, for a viewer. @throws ApiError not_found, invalid_request */
export function deliveryPages({ db, config }: Pick<WebDeps, 'db' | 'config'>) {
  const cursors = createCursors(config.APP_SECRET, 'deliveries')
  return async (owner: Owner, viewer: AccountId, id: WebhookId, { cursor, limit }: Page) => {
    await webhookOf(db, owner, id)
    const before = cursor === undefined ? null : (cursors.read(viewer, cursor) as DeliveryId)
    const data = await listDeliveries(db, id, limit, before)
    const last = data.length === limit ? parseId('delivery', data.at(-1)!.id) : null
    return { ok: true as const, data, nextCursor: cursors.write(viewer, last) }
  }
}

/** Lists what a webhook was sent, and what was answered. */
export const showDeliveries = endpoint({
  ...onWebhook,
  ...listsDeliveries,
  path: '/api/webhooks/:id/deliveries',
  summary: 'List the deliveries of a webhook',
}).handle((deps: Pick<WebDeps, 'db' | 'config'>) => {
  const page = deliveryPages(deps)
  return ({ auth: { accountId }, params, query }) => page(accountId, accountId, params.id, query)
})

const deliveryParams = z.object({
  ...pathId('webhook', 'The `id` of a webhook.').shape,
  delivery: pathId('delivery', 'The `id` of a delivery.').shape.id,
})

/** What the endpoints that show one delivery declare. */
export const showsDelivery = {
  method: 'get',
  params: deliveryParams,
  answers: { 200: { description: 'What was sent, and each try.', schema: deliveryDetailsAnswer } },
} as const

const noDelivery = (): ApiError => new ApiError('not_found', { message: 'There is no such delivery.' })

/** One delivery of an owner's webhook, with what was sent and its tries. @throws ApiError not_found */
export async function deliveryOf(
  { db }: Pick<WebDeps, 'db'>,
  owner: Owner,
  { id, delivery }: { id: WebhookId; delivery: DeliveryId },
) {
  await webhookOf(db, owner, id)
  const found = await findDelivery(db, id, delivery)
  if (!found) throw noDelivery()
  const { url, body, tries, delivery: shown } = found
  return {
    ok: true as const,
    delivery: shown,
    sent: { url, headers: { ...EVENT_HEADERS, 'webhook-id': shown.event }, body },
    tries,
  }
}

/** Shows what was sent of an event, and what was answered to each try. */
export const showDelivery = endpoint({
  ...declared,
  ...showsDelivery,
  path: '/api/webhooks/:id/deliveries/:delivery',
  summary: 'Show a delivery',
}).handle(
  (deps: Pick<WebDeps, 'db'>) =>
    ({ auth, params }) =>
      deliveryOf(deps, auth.accountId, params),
)

/** What the endpoints that send an event again declare. */
export const sendsAgain = {
  ...sends,
  params: deliveryParams,
  description: 'The same id and bytes, with a full set of tries.',
  answers: { 200: { description: 'The delivery has been queued.', schema: done } },
} as const

/** Queues an event of an owner's webhook once more. @throws ApiError not_found, conflict if it is disabled */
export async function sendEventAgain(
  deps: SendDeps,
  owner: Owner,
  { id, delivery }: { id: WebhookId; delivery: DeliveryId },
): Promise<void> {
  await requireEnabled(deps, owner, id)
  if (!(await redeliver(deps.db, id, delivery))) {
    throw noDelivery()
  }
  enqueue(deps, id)
}

/** Sends an event again. */
export const sendAgain = endpoint({
  ...declared,
  ...sendsAgain,
  path: '/api/webhooks/:id/deliveries/:delivery/redeliver',
  summary: 'Send an event again',
}).handle((deps: SendDeps) => async ({ auth, params }) => {
  await sendEventAgain(deps, auth.accountId, params)
  return { ok: true }
})
