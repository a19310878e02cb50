/**
 * Which addresses events are sent to (docs/webhooks.md#addresses). What a name resolves to is checked at each try, in
 * `src/workers/fetching`.
 */
import { hasUsualPort, publicUrlProblem } from '../requests/addresses.ts'

/** The longest address, in characters: that of a column. */
export const MAX_RECEIVER_LENGTH = 2048

const NOT_HTTPS = 'must be an https address'
const PRIVATE_TOO = 'must be an http(s) address without credentials'
const HTTP_WITHOUT_CREDENTIALS = /^https?:\/\/[^/?#@\\\s]+(?:[/?#]|$)/i

/**
 * What is wrong with a receiver's address, as the end of a sentence about it, or null.
 * @param allowPrivate WEBHOOK_ALLOW_PRIVATE: http, any port and any host too.
 */
export function receiverProblem(text: string, allowPrivate: boolean): string | null {
  if (text.length > MAX_RECEIVER_LENGTH) return `must be at most ${MAX_RECEIVER_LENGTH} characters`
  if (allowPrivate) return HTTP_WITHOUT_CREDENTIALS.test(text) && URL.canParse(text) ? null : PRIVATE_TOO
  const problem = publicUrlProblem(text, NOT_HTTPS)
  if (problem !== null) return problem
  return mayReceive(new URL(text)) ? null : 'must be https on port 443 or a port above 1023'
}

/** Whether events may go there by its spelling: https on port 443 or one above 1023. */
export const mayReceive = (url: URL): boolean => url.protocol === 'https:' && url.port !== '80' && hasUsualPort(url)
