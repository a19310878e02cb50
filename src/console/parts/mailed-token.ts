/**
 * The token of a mailed link, even if mail gateways have rewritten it. Pure.
 */

/** 32 bytes in base64url, with nothing of its alphabet next to them. */
const TOKEN = /(?<![\w-])[\w-]{43}(?![\w-])/

/** How often a gateway may have encoded a link. */
const MAX_DECODINGS = 3

/** The first token in a text: a link, a part of one, or text copied from a mail. Null without one. */
export function tokenIn(text: string): string | null {
  let read = text
  for (let nth = 0; nth <= MAX_DECODINGS; nth++) {
    const found = TOKEN.exec(read)
    if (found) return found[0]
    read = read.replaceAll(/%([0-9a-f]{2})/gi, (_all, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
  }
  return null
}
