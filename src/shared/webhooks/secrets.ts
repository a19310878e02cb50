/**
 * Signing secrets, and what they sign. How they rest: `secret-box.ts`.
 */
import { createHmac, randomBytes } from 'node:crypto'
import type { Config } from '../platform/config/config.ts'
import type { WebhookId } from '../platform/ids.ts'
import type { SecretBox as Box } from '../platform/secret-box.ts'
import { createBox } from '../platform/secret-box.ts'

/** Encrypts secrets, each for its own webhook. */
export type SecretBox = Box<WebhookId>

/** The box of a configuration. */
export const createSecretBox = (config: Pick<Config, 'APP_SECRET' | 'APP_SECRET_PREVIOUS'>): SecretBox =>
  createBox(config, 'webhook secrets')

/** A new secret: 32 random bytes. */
export const newSigningSecret = (): Buffer => randomBytes(32)

/** A secret as its owner is shown it. */
export const shownSecret = (secret: Buffer): string => `whsec_${secret.toString('base64')}`

/** What is signed: the event's id, the try's time in Unix seconds, and the bytes that are sent. */
export type Signed = { id: string; timestamp: number; body: string }

/** What every event is sent with, next to what signs it. */
export const EVENT_HEADERS = { 'content-type': 'application/json', 'user-agent': 'tollgate' } as const

/** The headers of a try by Standard Webhooks 1.0: a signature by each secret. */
export const signedHeaders = ({ id, timestamp, body }: Signed, secrets: readonly Buffer[]): Record<string, string> => ({
  'webhook-id': id,
  'webhook-timestamp': String(timestamp),
  'webhook-signature': secrets
    .map((secret) => `v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')}`)
    .join(' '),
})
