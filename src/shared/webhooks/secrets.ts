/**
 * Signing secrets, and how they rest: encrypted under a key that is derived from APP_SECRET, each for its own webhook.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import type { Config } from '../platform/config/config.ts'
import type { WebhookId } from '../platform/ids.ts'

const CIPHER = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16

/** Encrypts secrets, and decrypts those of the APP_SECRET before too. */
export type SecretBox = {
  seal: (id: WebhookId, secret: Buffer) => Buffer
  /** null: it was encrypted under an APP_SECRET that is not known any more. */
  open: (id: WebhookId, sealed: Buffer) => Buffer | null
  /** Whether it was encrypted under the current APP_SECRET. */
  isCurrent: (id: WebhookId, sealed: Buffer) => boolean
}

/** The box of a configuration. */
export function createSecretBox(config: Pick<Config, 'APP_SECRET' | 'APP_SECRET_PREVIOUS'>): SecretBox {
  const current = keyOf(config.APP_SECRET)
  const previous = config.APP_SECRET_PREVIOUS === undefined ? null : keyOf(config.APP_SECRET_PREVIOUS)
  return {
    seal: (id, secret) => seal(current, id, secret),
    open: (id, sealed) => open(current, id, sealed) ?? (previous && open(previous, id, sealed)),
    isCurrent: (id, sealed) => open(current, id, sealed) !== null,
  }
}

const keyOf = (appSecret: string) => Buffer.from(hkdfSync('sha256', appSecret, '', 'tollgate webhook secrets', 32))

function seal(key: Buffer, id: WebhookId, secret: Buffer): Buffer {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv(CIPHER, key, iv).setAAD(Buffer.from(id))
  const sealed = Buffer.concat([cipher.update(secret), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), sealed])
}

function open(key: Buffer, id: WebhookId, sealed: Buffer): Buffer | null {
  const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, IV_BYTES)).setAAD(Buffer.from(id))
  decipher.setAuthTag(sealed.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(IV_BYTES + TAG_BYTES)), decipher.final()])
  } catch {
    return null
  }
}

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
