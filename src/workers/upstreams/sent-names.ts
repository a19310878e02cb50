/** The names of tools and the ids of calls of one request, as its upstream takes them. */
import { createHash } from 'node:crypto'
import type { Carries } from '../../shared/chat/features.ts'

/** The text, or a part of it and a digest of all, where it is longer than `longest` characters. */
export function shortened(text: string, longest: number): string {
  if (text.length <= longest) return text
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 8)
  return `${text.slice(0, longest - digest.length - 1)}_${digest}`
}

/** How many characters a number behind a name may have. */
const NUMBER = 8

const inAlphabet = (text: string): string => text.replace(/[^A-Za-z0-9_-]/g, '_') || '_'

/** A name that nothing in `taken` has: this one, or with a number behind it. */
function free(name: string, taken: { has: (name: string) => boolean }, longest: number): string {
  if (!taken.has(name)) return name
  const stem = name.slice(0, longest - NUMBER)
  for (let count = 2; ; count++) if (!taken.has(`${stem}_${count}`)) return `${stem}_${count}`
}

/** The names of tools of one request: letters, digits, `_` and `-`; no two have the same. */
export class SafeNames {
  private readonly sent = new Map<string, string>()
  private readonly taken = new Map<string, string>()
  private readonly longest: number

  /** @param longest in characters */
  constructor(longest: number) {
    this.longest = longest
  }

  /** What is sent for a name. */
  of(text: string): string {
    const known = this.sent.get(text)
    if (known !== undefined) return known
    const name = free(shortened(inAlphabet(text), this.longest), this.taken, this.longest)
    this.sent.set(text, name)
    this.taken.set(name, text)
    return name
  }

  /** The customer's name for what was sent; undefined for what was not. */
  asked(name: string): string | undefined {
    return this.taken.get(name)
  }
}

/** The ids of the calls of one conversation, in its order: no two calls have the same, and each result has its call's. */
export class CallIds {
  private readonly taken = new Set<string>()
  private readonly open = new Map<string, string[]>()
  private readonly sent = new Map<string, string>()
  private readonly carries: Pick<Carries, 'longestCallId' | 'callIds'>

  constructor(carries: Pick<Carries, 'longestCallId' | 'callIds'>) {
    this.carries = carries
  }

  /** What is sent for the id of a call. */
  ofCall(id: string): string {
    const sent = free(this.formed(id), this.taken, this.carries.longestCallId)
    this.taken.add(sent)
    this.sent.set(id, sent)
    this.open.set(id, [...(this.open.get(id) ?? []), sent])
    return sent
  }

  /** What is sent for the id that a result names: that of the first call of this id without a result. */
  ofResult(id: string): string {
    return this.open.get(id)?.shift() ?? this.sent.get(id) ?? this.formed(id)
  }

  /** Whether a call of the conversation has this id, as its client knows it. */
  has(id: string): boolean {
    return this.sent.has(id)
  }

  private formed(id: string): string {
    const { callIds: form, longestCallId: longest } = this.carries
    return shortened(form && !form.test(id) ? inAlphabet(id) : id, longest)
  }
}
