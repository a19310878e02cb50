/**
 * /api/webhooks: where events of an account are sent (docs/webhooks.md).
 */
import { ApiError } from '../../shared/platform/errors.ts'
import type { AccountId, WebhookId } from '../../shared/platform/ids.ts'
import { publicId } from '../../shared/platform/ids.ts'
import type { Db } from '../../shared/platform/postgres/db.ts'
import type { Trace } from '../../shared/platform/process/trace.ts'
import { dueWebhooks, emitTo } from '../../shared/webhooks/deliveries.ts'
import { createSecretBox } from '../../shared/webhooks/secrets.ts'
import { TEST_TYPE } from '../../shared/webhooks/types.ts'
import type { Owner, Webhook } from '../../shared/webhooks/webhooks.ts'
import {
  changeWebhook,
  createWebhook,
  deleteWebhook,
  findWebhook,
  listWebhooks,
  rotateWebhook,
  showCallbackSecret,
} from '../../shared/webhooks/webhooks.ts'
import type { WebDeps } from '../deps.ts'
import { done } from '../endpoint/answer-schemas.ts'
import { manager } from '../endpoint/auth.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { pathId } from '../endpoint/fields.ts'
import {
  checkReceiver,
  deliveryAnswer,
  newWebhookAnswer,
  newWebhookBody,
  secretAnswer,
  webhookAnswer,
  webhookChangesBody,
  webhooksAnswer,
} from '../endpoint/webhook-schemas.ts'
import { logSecurity } from './security-log.ts'

/** What the endpoints of webhooks declare. */
export const declared = { tag: 'Webhooks', auth: manager } as const
/** What those of one webhook declare. */
export const onWebhook = { ...declared, params: pathId('webhook', 'The `id` of a webhook.') } as const

type WebhookDeps = Pick<WebDeps, 'db' | 'log' | 'config'>

/** The answer where an owner has no webhook of an id. */
export const noWebhook = () => new ApiError('not_found', { message: 'There is no such webhook.' })

/** A webhook of an owner. @throws ApiError not_found */
export async function webhookOf(db: Db, owner: Owner, id: WebhookId): Promise<Webhook> {
  const webhook = await findWebhook(db, owner, id)
  if (!webhook) throw noWebhook()
  return webhook
}

/** Makes a webhook. Its secret is in this answer and nowhere else. */
export const makeWebhook = endpoint({
  ...declared,
  method: 'post',
  path: '/api/webhooks',
  summary: 'Create a webhook',
  body: newWebhookBody,
  answers: {
    200: { description: 'The webhook, and its secret, which is shown only this once.', schema: newWebhookAnswer },
  },
  // A new webhook is outside of the slow lane: it is no way around that.
  limits: [{ limit: 'newWebhooks', per: 'account' }],
  errors: ['invalid_request', 'too_many_webhooks'],
}).handle(({ db, log, config }: WebhookDeps) => {
  const box = createSecretBox(config)
  return async ({ auth: { accountId }, body, request }) => {
    checkReceiver(body.url, config)
    const made = await createWebhook(db, box, accountId, body)
    logSecurity(log, request, 'webhook_made', accountId)
    return { ok: true, ...made }
  }
})

/** Lists the webhooks. */
export const showWebhooks = endpoint({
  ...declared,
  method: 'get',
  path: '/api/webhooks',
  summary: 'List the webhooks',
  answers: { 200: { description: 'All webhooks, oldest first.', schema: webhooksAnswer } },
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ auth }) => ({
  ok: true,
  data: await listWebhooks(db, auth.accountId),
}))

/** Shows one webhook. */
export const showWebhook = endpoint({
  ...onWebhook,
  method: 'get',
  path: '/api/webhooks/:id',
  summary: 'Show a webhook',
  answers: { 200: { description: 'The webhook.', schema: webhookAnswer } },
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ auth, params }) => {
  return { ok: true, webhook: await webhookOf(db, auth.accountId, params.id) }
})

/** Changes, disables or enables a webhook. */
export const editWebhook = endpoint({
  ...onWebhook,
  method: 'patch',
  path: '/api/webhooks/:id',
  summary: 'Change, disable or enable a webhook',
  body: webhookChangesBody,
  answers: { 200: { description: 'The webhook as it is now.', schema: webhookAnswer } },
  errors: ['invalid_request'],
}).handle(({ db, log, config }: WebhookDeps) => async ({ auth: { accountId }, params, body, request }) => {
  checkReceiver(body.url, config)
  const webhook = await changeWebhook(db, accountId, params.id, body)
  if (!webhook) throw noWebhook()
  logSecurity(log, request, 'webhook_changed', accountId)
  return { ok: true, webhook }
})

/** Deletes a webhook, and its undelivered events. */
export const endWebhook = endpoint({
  ...onWebhook,
  method: 'delete',
  path: '/api/webhooks/:id',
  summary: 'Delete a webhook',
  description: 'What it has not been sent by then is not sent any more.',
  answers: { 200: { description: 'The webhook has been deleted.', schema: done } },
}).handle(({ db, log }: Pick<WebDeps, 'db' | 'log'>) => async ({ auth: { accountId }, params, request }) => {
  if (!(await deleteWebhook(db, accountId, params.id))) throw noWebhook()
  logSecurity(log, request, 'webhook_deleted', accountId)
  return { ok: true }
})

/** What the endpoints that rotate a secret declare. */
export const rotation = {
  method: 'post',
  description: 'For 24 hours every event is signed with both secrets; an earlier one stops signing at once.',
  body: 'ignored',
  answers: { 200: { description: 'The new secret, which is shown only this once.', schema: secretAnswer } },
} as const

const rotate = async (
  { db, log, config }: WebhookDeps,
  id: WebhookId | 'callback',
  { auth: { accountId }, request }: { auth: { accountId: AccountId }; request: Trace },
) => {
  const secret = await rotateWebhook(db, createSecretBox(config), accountId, id)
  if (secret === null) throw noWebhook()
  logSecurity(log, request, 'webhook_rotated', accountId)
  return { ok: true as const, secret }
}

/** Gives a webhook another secret. */
export const renewWebhook = endpoint({
  ...onWebhook,
  ...rotation,
  path: '/api/webhooks/:id/rotate',
  summary: 'Rotate the secret of a webhook',
}).handle(
  (deps: WebhookDeps) =>
    ({ auth, params, request }) =>
      rotate(deps, params.id, { auth, request }),
)

/** Shows the secret of the addresses that calls name themselves, once, and makes it if it does not exist. */
export const showCallback = endpoint({
  ...declared,
  method: 'get',
  path: '/api/webhooks/callback-secret',
  summary: 'Show the callback secret',
  description:
    'What calls are told at the address in their `X-Callback-Url` is signed with it. It is made by the first such ' +
    'call, or when it is first asked for, and shown once: 409 after that. It can be rotated.',
  answers: { 200: { description: 'The secret, which is shown only this once.', schema: secretAnswer } },
  errors: ['conflict'],
}).handle(({ db, log, config }: WebhookDeps) => {
  const box = createSecretBox(config)
  return async ({ auth: { accountId }, request }) => {
    const secret = await showCallbackSecret(db, box, accountId)
    if (secret === null) {
      throw new ApiError('conflict', { message: 'The callback secret was shown already. Rotate it to get another.' })
    }
    logSecurity(log, request, 'callback_secret_shown', accountId)
    return { ok: true, secret }
  }
})

/** Gives the callbacks of calls another secret. */
export const renewCallback = endpoint({
  ...declared,
  ...rotation,
  path: '/api/webhooks/callback-secret/rotate',
  summary: 'Rotate the callback secret',
  errors: ['not_found'],
}).handle(
  (deps: WebhookDeps) =>
    ({ auth, request }) =>
      rotate(deps, 'callback', { auth, request }),
)

/** What sending an event on demand needs. */
export type SendDeps = Pick<WebDeps, 'db' | 'log' | 'queues'>

/** Not awaited and allowed to fail: the event is in the outbox, where the reconciler finds it. */
export function enqueue({ db, queues, log }: SendDeps, id: WebhookId): void {
  dueWebhooks(db, 1, id)
    .then((due) => queues.enqueueWebhooks(due))
    .catch((error: unknown) => log.warn({ webhook: publicId('webhook', id), err: error }, 'webhook not enqueued'))
}

/** A webhook of an owner that is sent events. @throws ApiError not_found; conflict if it is disabled */
export async function requireEnabled({ db }: SendDeps, owner: Owner, id: WebhookId): Promise<Webhook> {
  const webhook = await webhookOf(db, owner, id)
  if (webhook.disabledAt === null) return webhook
  throw new ApiError('conflict', { message: 'The webhook is disabled. Enable it first.' })
}

/** Queues a test event for a webhook of an owner. @returns the delivery @throws ApiError not_found, conflict */
export async function sendTest(deps: SendDeps, owner: Owner, id: WebhookId): Promise<string> {
  const webhook = await requireEnabled(deps, owner, id)
  const delivery = await emitTo(deps.db, id, TEST_TYPE, { webhook: webhook.id })
  if (delivery === null) throw noWebhook()
  enqueue(deps, id)
  return publicId('delivery', delivery)
}

/** What the endpoints that send an event declare. */
export const sends = {
  method: 'post',
  // Each is a request to a server that the caller chooses.
  limits: [{ limit: 'webhookSends', per: 'account' }],
  body: 'ignored',
  errors: ['conflict'],
} as const

/** What the endpoints that send a test event declare. */
export const sendsTest = {
  ...sends,
  answers: { 200: { description: 'The delivery that was queued.', schema: deliveryAnswer } },
} as const

/** Sends a test event. */
export const testWebhook = endpoint({
  ...onWebhook,
  ...sendsTest,
  path: '/api/webhooks/:id/test',
  summary: 'Send a test event',
  description: 'An event of the type `webhook.test`, whatever types the webhook lists.',
}).handle((deps: SendDeps) => async ({ auth, params }) => ({
  ok: true,
  delivery: await sendTest(deps, auth.accountId, params.id),
}))
