/**
 * Parses e-mail addresses. Pure.
 */

/** The longest address, in characters. */
const MAX_LENGTH = 254

/** ASCII only: look-alike characters, and characters that normalise to `@`, have sent mails to strangers. */
const ADDRESS =
  /^[a-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/** The lowercased form of an address; null when it is none. Nothing is trimmed or normalised beyond ASCII case. */
export function parseEmail(text: unknown): string | null {
  if (typeof text !== 'string' || text.length > MAX_LENGTH) return null
  // Only A–Z: `toLowerCase` would turn U+212A, the Kelvin sign, into a plain k.
  const lower = text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
  const local = lower.slice(0, lower.lastIndexOf('@'))
  if (!ADDRESS.test(lower) || local.startsWith('.') || local.endsWith('.') || local.includes('..')) return null
  return lower
}

/** Hosts that ignore dots before the @, each with its canonical name. */
const DOTLESS_HOSTS: Record<string, string> = { 'gmail.com': 'gmail.com', 'googlemail.com': 'gmail.com' }

/**
 * The mailbox that an address leads to, as limits count it: without the tag behind a `+`, and without dots where the
 * host ignores them. If a host treats the plus as a letter, two mailboxes share a limit. Mails go to the address,
 * never to this form.
 */
export function mailboxOf(email: string): string {
  const at = email.lastIndexOf('@')
  const host = email.slice(at + 1)
  const untagged = /^([^+]+)\+/.exec(email.slice(0, at))?.[1] ?? email.slice(0, at)
  const dotless = DOTLESS_HOSTS[host]
  return dotless ? `${untagged.replaceAll('.', '')}@${dotless}` : `${untagged}@${host}`
}
