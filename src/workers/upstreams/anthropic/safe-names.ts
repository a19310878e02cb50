/**
 * Ids and names in the alphabet that the Messages API takes: letters, digits, `_` and `-`. Other models make others.
 */

/** The longest name of a tool that the API takes, in characters. */
const MAX_LENGTH = 128

/** The ids, or the names, of one request: each has one in the alphabet, and no two have the same. */
export class SafeNames {
  private readonly sent = new Map<string, string>()
  private readonly taken = new Map<string, string>()

  /** What is sent for an id or a name. */
  of(text: string): string {
    const known = this.sent.get(text)
    if (known !== undefined) return known
    const plain = text.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, MAX_LENGTH) || '_'
    let free = plain
    for (let count = 2; this.taken.has(free); count++) free = `${plain.slice(0, MAX_LENGTH - 8)}_${count}`
    this.sent.set(text, free)
    this.taken.set(free, text)
    return free
  }

  /** The customer's ids and names, by what was sent for them. */
  get back(): ReadonlyMap<string, string> {
    return this.taken
  }
}
