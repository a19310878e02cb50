/**
 * The webhooks of the account, and its callback secret.
 */
import type { Answered, Asked, RowOf } from './declared.ts'
import { ask } from './declared.ts'
import { problemOf, removal } from './client.ts'

export type Webhook = RowOf<'GET /api/webhooks'>
export type Delivery = RowOf<'GET /api/webhooks/:id/deliveries'>
export type EventType = Asked<'POST /api/webhooks'>['body']['types'][number]
export type WebhookChanges = Asked<'PATCH /api/webhooks/:id'>['body']

export const getWebhooks = () => ask('GET /api/webhooks')
export const getWebhook = (id: string) => ask('GET /api/webhooks/:id', { params: { id } })
export const createWebhook = (url: string, types: EventType[]) => ask('POST /api/webhooks', { body: { url, types } })
export const changeWebhook = (id: string, body: WebhookChanges) =>
  ask('PATCH /api/webhooks/:id', { params: { id }, body })
export const removeWebhook = (id: string) => removal(ask('DELETE /api/webhooks/:id', { params: { id } }))
export const rotateWebhook = (id: string) => ask('POST /api/webhooks/:id/rotate', { params: { id } })
export const testWebhook = (id: string) => ask('POST /api/webhooks/:id/test', { params: { id } })
export const getDeliveries = (id: string, cursor?: string) =>
  ask('GET /api/webhooks/:id/deliveries', { params: { id }, query: { cursor } })
export type DeliveryDetails = Answered<'GET /api/webhooks/:id/deliveries/:delivery'>
export const getDelivery = (id: string, delivery: string) =>
  ask('GET /api/webhooks/:id/deliveries/:delivery', { params: { id, delivery } })
export const redeliver = (id: string, delivery: string) =>
  ask('POST /api/webhooks/:id/deliveries/:delivery/redeliver', { params: { id, delivery } })

/** Makes a callback secret: the first, or another in place of the one before. @throws Problem */
export const newCallbackSecret = (): Promise<Answered<'GET /api/webhooks/callback-secret'>> =>
  ask('GET /api/webhooks/callback-secret').catch((thrown: unknown) => {
    if (problemOf(thrown).code !== 'conflict') throw thrown
    return ask('POST /api/webhooks/callback-secret/rotate')
  })
