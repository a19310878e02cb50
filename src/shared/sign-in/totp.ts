/**
 * Codes of authenticator apps (RFC 6238): SHA-1, 6 digits, 30 s, which are what all apps support. Pure.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'

/** How long a step is, in seconds. */
export const STEP_SECONDS = 30

/** The length of a secret in bytes: that of the hash (RFC 4226). */
export const SECRET_BYTES = 20

const DIGITS = 6

/** Steps before and after the current one whose codes are accepted: clocks differ, and people type slowly. */
const WINDOW = 1

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** Bytes in base32 (RFC 4648) without padding. */
export function base32(bytes: Buffer): string {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('')
  const groups = bits.match(/.{1,5}/g) ?? []
  return groups.map((group) => ALPHABET[Number.parseInt(group.padEnd(5, '0'), 2)]).join('')
}

/** The code of a time step: the number of steps since 1970. */
export function codeAt(secret: Buffer, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const mac = createHmac('sha1', secret).update(counter).digest()
  const number = mac.readUInt32BE(mac.at(-1)! & 0xf) & 0x7fffffff
  return String(number % 10 ** DIGITS).padStart(DIGITS, '0')
}

/** The step whose code this is, of those that are accepted at the step `now`; null if there is none. */
export function stepOf(secret: Buffer, code: string, now: number): number | null {
  const typed = Buffer.from(code.replaceAll(/\s/g, ''))
  const steps = Array.from({ length: 2 * WINDOW + 1 }, (_, index) => now - WINDOW + index)
  const matches = steps.filter((step) => {
    const right = Buffer.from(codeAt(secret, step))
    return typed.length === right.length && timingSafeEqual(typed, right)
  })
  return matches.at(-1) ?? null
}

/** The text of the QR code that an app scans. */
export function otpauthUri(secret: Buffer, { issuer, account }: { issuer: string; account: string }): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(account)}`
  const terms = `algorithm=SHA1&digits=${DIGITS}&period=${STEP_SECONDS}`
  return `otpauth://totp/${label}?secret=${base32(secret)}&issuer=${encodeURIComponent(issuer)}&${terms}`
}
