/** One accepted submission. `outcome` is what became of its answer. */
export interface BilledEntry {
  readonly at: number
  readonly protocol: string
  readonly model: string
  readonly prompt: string
  outcome: 'accepted' | 'answered' | 'lost' | 'aborted' | 'cancelled'
}

/** What `GET /sandbox/billed` answers. */
export interface BilledReport {
  readonly total: number
  readonly byModel: Readonly<Record<string, number>>
  readonly entries: readonly (Omit<BilledEntry, 'at'> & { readonly at: string })[]
  /** How many prompts were forgotten to make room. Only if there are any can a count by prompt be too small. */
  readonly forgottenPrompts: number
}

const MAX_ENTRIES = 10_000
const MAX_COUNTERS = 200_000
const MAX_COUNTER_CHARACTERS = 64_000_000
const MAX_PROMPT_CHARACTERS = 2000

/**
 * What a provider would put on its bill. Totals by model are exact as long as the process lives. Totals by prompt are
 * stored for the last 200,000 different prompts, and single entries for the last 10,000.
 */
export class Billing {
  private total = 0
  private forgotten = 0
  private characters = 0
  private entries: BilledEntry[] = []
  private readonly models = new Map<string, number>()
  /** Counts by `model NUL prompt`, oldest first. */
  private readonly counters = new Map<string, number>()

  /** Records one accepted submission. Of a prompt beyond 2000 characters both ends are stored. */
  add(protocol: string, model: string, prompt: string): BilledEntry {
    const kept = bothEnds(prompt)
    const entry: BilledEntry = { at: Date.now(), protocol, model, prompt: kept, outcome: 'accepted' }
    this.total += 1
    this.models.set(model, (this.models.get(model) ?? 0) + 1)
    this.count(`${model}\0${kept}`)
    this.entries.push(entry)
    // Cut only at twice the bound, so that dropping old entries costs next to nothing per call.
    if (this.entries.length >= 2 * MAX_ENTRIES) this.entries = this.entries.slice(-MAX_ENTRIES)
    return entry
  }

  /** What was billed; with `prompt`, only submissions whose prompt contains it. */
  report(prompt = ''): BilledReport {
    const entries = this.entries.slice(-MAX_ENTRIES).filter((entry) => entry.prompt.includes(prompt))
    const byModel = prompt ? this.modelsOf(prompt) : this.models
    const total = prompt ? [...byModel.values()].reduce((sum, count) => sum + count, 0) : this.total
    return {
      total,
      byModel: Object.fromEntries(byModel),
      entries: entries.map((entry) => ({ ...entry, at: new Date(entry.at).toISOString() })),
      forgottenPrompts: this.forgotten,
    }
  }

  /** Forgets everything. */
  reset(): void {
    this.total = 0
    this.forgotten = 0
    this.characters = 0
    this.entries = []
    this.models.clear()
    this.counters.clear()
  }

  private count(counter: string): void {
    const before = this.counters.get(counter)
    this.counters.set(counter, (before ?? 0) + 1)
    if (before !== undefined) return
    this.characters += counter.length
    while (this.counters.size > MAX_COUNTERS || this.characters > MAX_COUNTER_CHARACTERS) {
      const [oldest] = this.counters.keys()
      this.counters.delete(oldest!)
      this.characters -= oldest!.length
      this.forgotten += 1
    }
  }

  private modelsOf(prompt: string): Map<string, number> {
    const found = new Map<string, number>()
    for (const [counter, count] of this.counters) {
      const split = counter.indexOf('\0')
      if (!counter.includes(prompt, split + 1)) continue
      const model = counter.slice(0, split)
      found.set(model, (found.get(model) ?? 0) + count)
    }
    return found
  }
}

function bothEnds(prompt: string): string {
  if (prompt.length <= MAX_PROMPT_CHARACTERS) return prompt
  return `${prompt.slice(0, MAX_PROMPT_CHARACTERS / 2)}…${prompt.slice(-MAX_PROMPT_CHARACTERS / 2)}`
}
