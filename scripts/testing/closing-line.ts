/** How many tests passed, failed and were skipped. */
export type Counts = { passed: number; failed: number; skipped: number }

/** The last line of every test run; other programs read it. */
export function closingLine({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}
