/** Secrets as they rest: encrypted under a key derived from APP_SECRET for a purpose, each for its own owner. */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import type { Config } from './config/config.ts'

const CIPHER = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16

/** Encrypts secrets of owners with ids, and decrypts those of the APP_SECRET before too. */
export type SecretBox<OwnerId extends string> = {
  seal: (id: OwnerId, secret: Buffer) => Buffer
  /** null: it was encrypted under an APP_SECRET that is not known any more. */
  open: (id: OwnerId, sealed: Buffer) => Buffer | null
  /** Whether it was encrypted under the current APP_SECRET. */
  isCurrent: (id: OwnerId, sealed: Buffer) => boolean
}

/** The box of a configuration. `purpose`: what is encrypted; the box of another purpose cannot open it. */
export function createBox<OwnerId extends string>(
  config: Pick<Config, 'APP_SECRET' | 'APP_SECRET_PREVIOUS'>,
  purpose: 'webhook secrets' | 'totp secrets',
): SecretBox<OwnerId> {
  const keyOf = (appSecret: string) => Buffer.from(hkdfSync('sha256', appSecret, '', `tollgate ${purpose}`, 32))
  const current = keyOf(config.APP_SECRET)
  const previous = config.APP_SECRET_PREVIOUS === undefined ? null : keyOf(config.APP_SECRET_PREVIOUS)
  return {
    seal: (id, secret) => seal(current, id, secret),
    open: (id, sealed) => open(current, id, sealed) ?? (previous && open(previous, id, sealed)),
    isCurrent: (id, sealed) => open(current, id, sealed) !== null,
  }
}

function seal(key: Buffer, id: string, secret: Buffer): Buffer {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv(CIPHER, key, iv).setAAD(Buffer.from(id))
  const sealed = Buffer.concat([cipher.update(secret), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), sealed])
}

function open(key: Buffer, id: string, sealed: Buffer): Buffer | null {
  const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, IV_BYTES)).setAAD(Buffer.from(id))
  decipher.setAuthTag(sealed.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(IV_BYTES + TAG_BYTES)), decipher.final()])
  } catch {
    return null
  }
}
