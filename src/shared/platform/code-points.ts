/** Lengths of texts as people count them: in Unicode code points. */

/** The code points of a text. It builds a list of them: of a text that a client sent, call `hasAtMost` first. */
export const codePoints = (text: string): number => Array.from(text).length

/**
 * Whether a text has at most `most` code points. A code point has one or two UTF-16 units, so that only a text whose
 * length does not decide it is counted.
 */
export const hasAtMost = (text: string, most: number): boolean =>
  text.length <= most || (text.length <= 2 * most && codePoints(text) <= most)
