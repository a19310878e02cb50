/**
 * What a failed test reports of what it had open, and of what it waited for (.mocharc.json): a time-out of mocha names
 * neither, and one in a browser does not show the page.
 */
import type { Context } from 'mocha'
import { waitedFor } from '../../scripts/harness/until.ts'

const tellers = new Set<() => Promise<string>>()

/** Has `tell` asked if the running test fails. Returns what takes that back. */
export function tellAtFailure(tell: () => Promise<string>): () => void {
  tellers.add(tell)
  return () => tellers.delete(tell)
}

export const mochaHooks = {
  async afterEach(this: Context): Promise<void> {
    if (this.currentTest?.state !== 'failed') return
    const title = this.currentTest.fullTitle()
    for (const wait of waitedFor()) process.stderr.write(`"${title}" has failed while it waited for ${wait}\n`)
    for (const tell of tellers) {
      const told = await tell().catch((error: unknown) => `nothing can be told of it: ${String(error)}`)
      process.stderr.write(`"${title}" has failed at ${told}\n`)
    }
  },
}
