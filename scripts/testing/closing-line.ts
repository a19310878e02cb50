/** How many tests passed, failed and were skipped. */
export type Counts = { passed: number; failed: number; skipped: number }

/** A test that failed, the file that it is in, and its error's message. */
export type Failure = { title: string; file: string; message: string }

/** How a run of mocha ended, as its reporter writes it. `failures` is missing where no test failed. */
export type Ended = Counts & { failures?: Failure[] }

/** The last line of every test run; other programs read it. */
export function closingLine({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}
