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

/** Names of which no two are the same. */
class DistinctNames {
  private readonly taken = new Set<string>()
  private readonly counts = new Map<string, number>()
  private readonly longest: number

  constructor(longest: number) {
    this.longest = longest
  }

  /** This name, or where it is taken the same with a number behind it. */
  take(name: string): string {
    let free = name
    for (const stem = name.slice(0, this.longest - NUMBER); this.taken.has(free);) {
      const count = (this.counts.get(stem) ?? 1) + 1
      this.counts.set(stem, count)
      free = `${stem}_${count}`
    }
    this.taken.add(free)
    return free
  }
}

/** The names of tools of one request: letters, digits, `_` and `-`; no two have the same. */
export class SafeNames {
  private readonly sent = new Map<string, string>()
  private readonly asks = new Map<string, string>()
  private readonly names: DistinctNames
  private readonly longest: number

  /** @param longest in characters */
  constructor(longest: number) {
    this.longest = longest
    this.names = new DistinctNames(longest)
  }

  /** What is sent for a name. */
  of(text: string): string {
    const known = this.sent.get(text)
    if (known !== undefined) return known
    const name = this.names.take(shortened(inAlphabet(text), this.longest))
    this.sent.set(text, name)
    this.asks.set(name, text)
    return name
  }

  /** The customer's name for what was sent; undefined for what was not. */
  asked(name: string): string | undefined {
    return this.asks.get(name)
  }
}

/** The ids of calls of one conversation, in its order: no two calls have the same, and each result has its call's. */
export class CallIds {
  private readonly names: DistinctNames
  private readonly calls = new Map<string, { sent: string[]; answered: number }>()
  private readonly carries: Pick<Carries, 'longestCallId' | 'callIds'>

  constructor(carries: Pick<Carries, 'longestCallId' | 'callIds'>) {
    this.carries = carries
    this.names = new DistinctNames(carries.longestCallId)
  }

  /** What is sent for the id of a call. */
  ofCall(id: string): string {
    const sent = this.names.take(this.formed(id))
    const known = this.calls.get(id)
    if (known) known.sent.push(sent)
    else this.calls.set(id, { sent: [sent], answered: 0 })
    return sent
  }

  /** What is sent for the id that a result names: that of the first call of this id without a result. */
  ofResult(id: string): string {
    const known = this.calls.get(id)
    if (!known) return this.formed(id)
    const at = Math.min(known.answered, known.sent.length - 1)
    known.answered = at + 1
    return known.sent[at]!
  }

  /** Whether a call of the conversation has this id, as its client knows it. */
  has(id: string): boolean {
    return this.calls.has(id)
  }

  private formed(id: string): string {
    const { callIds: form, longestCallId: longest } = this.carries
    return shortened(form && !form.test(id) ? inAlphabet(id) : id, longest)
  }
}
