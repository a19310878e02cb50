/**
 * /api/operator/webhooks: where events of the whole service are reported to operators (docs/webhooks.md#for-operators).
 */
import {
  addOperatorsWebhook,
  removeOperatorsWebhook,
  rotateOperatorsWebhook,
  switchOperatorsWebhook,
} from '../../shared/operators/webhooks.ts'
import { createSecretBox } from '../../shared/webhooks/secrets.ts'
import { listWebhooks } from '../../shared/webhooks/webhooks.ts'
import type { SendDeps } from '../console/webhooks.ts'
import {
  deliveryOf,
  deliveryPages,
  listsDeliveries,
  sendEventAgain,
  sendsAgain,
  showsDelivery,
} from '../console/webhook-deliveries.ts'
import { noWebhook, rotation, sendTest, sendsTest, webhookOf } from '../console/webhooks.ts'
import type { WebDeps } from '../deps.ts'
import { done } from '../endpoint/answer-schemas.ts'
import { operator } from '../endpoint/auth.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { pathId } from '../endpoint/fields.ts'
import {
  checkReceiver,
  newWebhookAnswer,
  operatorsWebhookBody,
  operatorsWebhookSwitch,
  webhookAnswer,
  webhooksAnswer,
} from '../endpoint/webhook-schemas.ts'

const declared = { tag: 'Operators', auth: operator, views: 'nobody' } as const
const onWebhook = { ...declared, params: pathId('webhook', 'The `id` of a webhook.') } as const

type Deps = Pick<WebDeps, 'db' | 'config'>

/** Lists the operators' webhooks. */
export const showOperatorsWebhooks = endpoint({
  ...declared,
  method: 'get',
  path: '/api/operator/webhooks',
  summary: "List the operators' webhooks",
  answers: { 200: { description: 'All of them, oldest first.', schema: webhooksAnswer } },
}).handle(({ db }: Pick<WebDeps, 'db'>) => async () => ({ ok: true, data: await listWebhooks(db, null) }))

/** Makes one. Its secret is in this answer and nowhere else. */
export const makeOperatorsWebhook = endpoint({
  ...declared,
  method: 'post',
  path: '/api/operator/webhooks',
  summary: "Create a webhook of the operators'",
  body: operatorsWebhookBody,
  answers: {
    200: { description: 'The webhook, and its secret, which is shown only this once.', schema: newWebhookAnswer },
  },
  errors: ['invalid_request', 'too_many_webhooks'],
}).handle(({ db, config }: Deps) => {
  const box = createSecretBox(config)
  return async ({ auth, body }) => {
    checkReceiver(body.url, config)
    return { ok: true, ...(await addOperatorsWebhook(db, auth.userId, box, body)) }
  }
})

/** Shows one. */
export const showOperatorsWebhook = endpoint({
  ...onWebhook,
  method: 'get',
  path: '/api/operator/webhooks/:id',
  summary: "Show a webhook of the operators'",
  answers: { 200: { description: 'The webhook.', schema: webhookAnswer } },
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ params }) => {
  return { ok: true, webhook: await webhookOf(db, null, params.id) }
})

/** Disables or enables one. */
export const editOperatorsWebhook = endpoint({
  ...onWebhook,
  method: 'patch',
  path: '/api/operator/webhooks/:id',
  summary: "Disable or enable a webhook of the operators'",
  body: operatorsWebhookSwitch,
  answers: { 200: { description: 'The webhook as it is now.', schema: webhookAnswer } },
  errors: ['invalid_request'],
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ auth, params, body }) => {
  const webhook = await switchOperatorsWebhook(db, auth.userId, params.id, body.disabled)
  if (!webhook) throw noWebhook()
  return { ok: true, webhook }
})

/** Gives one another secret. */
export const renewOperatorsWebhook = endpoint({
  ...onWebhook,
  ...rotation,
  path: '/api/operator/webhooks/:id/rotate',
  summary: "Rotate the secret of a webhook of the operators'",
}).handle(({ db, config }: Deps) => {
  const box = createSecretBox(config)
  return async ({ auth, params }) => {
    const secret = await rotateOperatorsWebhook(db, auth.userId, box, params.id)
    if (secret === null) throw noWebhook()
    return { ok: true, secret }
  }
})

/** Sends a test event. */
export const testOperatorsWebhook = endpoint({
  ...onWebhook,
  ...sendsTest,
  path: '/api/operator/webhooks/:id/test',
  summary: "Send a test event to a webhook of the operators'",
}).handle((deps: SendDeps) => async ({ params }) => ({ ok: true, delivery: await sendTest(deps, null, params.id) }))

/** Lists what one was sent, and what was answered. */
export const showOperatorsDeliveries = endpoint({
  ...onWebhook,
  ...listsDeliveries,
  path: '/api/operator/webhooks/:id/deliveries',
  summary: "List the deliveries of a webhook of the operators'",
}).handle((deps: Deps) => {
  const page = deliveryPages(deps)
  return ({ auth, params, query }) => page(null, auth.accountId, params.id, query)
})

/** Shows what was sent of an event, and what was answered to each try. */
export const showOperatorsDelivery = endpoint({
  ...declared,
  ...showsDelivery,
  path: '/api/operator/webhooks/:id/deliveries/:delivery',
  summary: "Show a delivery of a webhook of the operators'",
}).handle(
  (deps: Pick<WebDeps, 'db'>) =>
    ({ params }) =>
      deliveryOf(deps, null, params),
)

/** Sends an event of one again. */
export const sendOperatorsEventAgain = endpoint({
  ...declared,
  ...sendsAgain,
  path: '/api/operator/webhooks/:id/deliveries/:delivery/redeliver',
  summary: "Send an event of the operators' again",
}).handle((deps: SendDeps) => async ({ params }) => {
  await sendEventAgain(deps, null, params)
  return { ok: true }
})

/** Deletes one, and its undelivered events. */
export const endOperatorsWebhook = endpoint({
  ...onWebhook,
  method: 'delete',
  path: '/api/operator/webhooks/:id',
  summary: "Delete a webhook of the operators'",
  answers: { 200: { description: 'The webhook has been deleted.', schema: done } },
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ auth, params }) => {
  if (!(await removeOperatorsWebhook(db, auth.userId, params.id))) throw noWebhook()
  return { ok: true }
})
