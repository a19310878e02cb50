/** The operators' own webhooks (docs/webhooks.md#for-operators). Each change is recorded in its own transaction. */
import type { WebhookId } from '../platform/ids.ts'
import { publicId } from '../platform/ids.ts'
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { SecretBox } from '../webhooks/secrets.ts'
import type { NewWebhook, Webhook } from '../webhooks/webhooks.ts'
import { changeWebhook, createWebhook, deleteWebhook, rotateWebhook } from '../webhooks/webhooks.ts'
import type { ActionKind, Operator } from '../action-log/actions.ts'
import { recordAction } from '../action-log/actions.ts'

const record = (trx: Trx, operator: Operator, action: ActionKind, id: WebhookId) =>
  recordAction(trx, operator, action, null, { webhook: publicId('webhook', id) })

/** Makes a webhook of the operators. @throws ApiError too_many_webhooks */
export const addOperatorsWebhook = (
  db: Db,
  operator: Operator,
  box: SecretBox,
  fields: { url: string; types: readonly string[] },
): Promise<NewWebhook> =>
  db.transaction(async (trx) => {
    const made = await createWebhook(trx, box, null, fields)
    const { id: webhook, url } = made.webhook
    await recordAction(trx, operator, 'webhook_created', null, { webhook, url })
    return made
  })

/** Disables or enables one. @returns null if there is none */
export const switchOperatorsWebhook = (
  db: Db,
  operator: Operator,
  id: WebhookId,
  disabled: boolean,
): Promise<Webhook | null> =>
  db.transaction(async (trx) => {
    const changed = await changeWebhook(trx, null, id, { disabled })
    if (changed) await record(trx, operator, 'webhook_changed', id)
    return changed
  })

/** Gives one another secret. @returns the secret; null if there is none */
export const rotateOperatorsWebhook = (
  db: Db,
  operator: Operator,
  box: SecretBox,
  id: WebhookId,
): Promise<string | null> =>
  db.transaction(async (trx) => {
    const secret = await rotateWebhook(trx, box, null, id)
    if (secret !== null) await record(trx, operator, 'webhook_rotated', id)
    return secret
  })

/** Deletes one. @returns false if there is none */
export const removeOperatorsWebhook = (db: Db, operator: Operator, id: WebhookId): Promise<boolean> =>
  db.transaction(async (trx) => {
    const removed = await deleteWebhook(trx, null, id)
    if (removed) await record(trx, operator, 'webhook_removed', id)
    return removed
  })
