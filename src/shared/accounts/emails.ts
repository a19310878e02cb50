/**
 * E-mail addresses: what is taken for one. Pure.
 */

/** Longest address, in characters (contract section 4). */
const MAX_LENGTH = 254

/** ASCII only: look-alikes and characters that normalise to `@` have sent mails to strangers (reliability part B). */
const ADDRESS = /^[a-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/** The lowercased form of an address; null when it is none. Nothing is trimmed or normalised beyond ASCII case. */
export function parseEmail(text: unknown): string | null {
  if (typeof text !== 'string' || text.length > MAX_LENGTH) return null
  // Only A–Z: `toLowerCase` would turn U+212A, the Kelvin sign, into a plain k.
  const lower = text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
  const local = lower.slice(0, lower.lastIndexOf('@'))
  if (!ADDRESS.test(lower) || local.startsWith('.') || local.endsWith('.') || local.includes('..')) return null
  return lower
}
