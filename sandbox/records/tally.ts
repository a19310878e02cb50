const REMEMBERED = 10_000

/** Counts events, and stores the prompts of the last few thousand. */
export class Tally {
  private total = 0
  private prompts: string[] = []

  /** Counts one more. */
  add(prompt: string): void {
    this.total += 1
    this.prompts.push(prompt)
    if (this.prompts.length > REMEMBERED) this.prompts = this.prompts.slice(-REMEMBERED / 2)
  }

  /** How many there were; with `prompt`, how many of the stored prompts contain it. */
  of(prompt: string): number {
    return prompt ? this.prompts.filter((one) => one.includes(prompt)).length : this.total
  }
}
