/**
 * How long texts are as JSON.
 */

/** How much of a text is written at a time, in UTF-16 units. */
const PIECE = 65_536

/**
 * The UTF-8 bytes of a text as JSON, without its quotes. A long text is written in pieces, since control characters
 * make it six times as long; what a piece cuts in two counts for a few bytes more.
 */
export function jsonBytes(text: string): number {
  let bytes = 0
  for (let from = 0; from < text.length; from += PIECE)
    bytes += Buffer.byteLength(JSON.stringify(text.slice(from, from + PIECE))) - 2
  return bytes
}
