/** Names of tools as the Gemini API takes them: they begin with a letter, or with `_`. Pure. */

/** Names that are sent as they are. */
const PLAIN = /^_?[a-z]/i

/** What is sent for a name: the same, or one with `_` in front. */
export const sentName = (name: string): string => (PLAIN.test(name) ? name : `_${name}`)

/** The name for which this one was sent. */
export const askedName = (name: string): string => (PLAIN.test(name) ? name : name.replace(/^_/, ''))
