/**
 * What a failed test says of what it had open (.mocharc.json): without it, a timeout in a browser names what was waited
 * for, and not what the page showed instead.
 */
import type { Context } from 'mocha'

const tellers = new Set<() => Promise<string>>()

/** Has `tell` asked if the running test fails. Returns what takes that back. */
export function tellAtFailure(tell: () => Promise<string>): () => void {
  tellers.add(tell)
  return () => tellers.delete(tell)
}

export const mochaHooks = {
  async afterEach(this: Context): Promise<void> {
    if (this.currentTest?.state !== 'failed') return
    for (const tell of tellers) {
      const told = await tell().catch((error: unknown) => `nothing can be told of it: ${String(error)}`)
      process.stderr.write(`"${this.currentTest.fullTitle()}" has failed at ${told}\n`)
    }
  },
}
