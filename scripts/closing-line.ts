/** How many tests ended in which way. */
export type Counts = { passed: number; failed: number; skipped: number }

/** The last line of every test run; other programs read it. */
export function closingLine({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}
