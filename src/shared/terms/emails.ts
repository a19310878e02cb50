/** Parses e-mail addresses. Pure. */

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

/** Hosts of large providers that are one, each with the name that counts. */
const SAME_HOST: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'googlemail.com': 'gmail.com',
    'protonmail.com': 'proton.me',
    'pm.me': 'proton.me',
    'me.com': 'icloud.com',
    'mac.com': 'icloud.com',
    'ya.ru': 'yandex.ru',
    'yandex.com': 'yandex.ru',
  }),
)

/** Those that ignore dots before the @. */
const DOTLESS_HOSTS = new Set(['gmail.com', 'proton.me', 'yandex.ru'])

/**
 * The mailbox that an address leads to, as limits count it: without the tag behind a `+`, with one name for all hosts
 * of a provider, and without dots where it ignores them. If a host treats the plus as a letter, two mailboxes share a
 * limit. Mails go to the address, never to this form.
 */
export function mailboxOf(email: string): string {
  const at = email.lastIndexOf('@')
  const named = email.slice(at + 1)
  const host = SAME_HOST.get(named) ?? named
  const untagged = /^([^+]+)\+/.exec(email.slice(0, at))?.[1] ?? email.slice(0, at)
  return `${DOTLESS_HOSTS.has(host) ? untagged.replaceAll('.', '') : untagged}@${host}`
}
