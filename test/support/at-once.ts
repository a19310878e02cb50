/**
 * The tests of a suite that mostly wait: all start when the first one does, and each has its own title and result. Each
 * must have everything that it changes to itself.
 */
export function atOnce(tests: Record<string, () => Promise<void>>): void {
  const ends = new Map<string, Promise<{ error: unknown } | null>>()
  before(() => {
    for (const [title, run] of Object.entries(tests))
      ends.set(
        title,
        run().then(
          () => null,
          (error: unknown) => ({ error }),
        ),
      )
  })
  for (const title of Object.keys(tests))
    it(title, async () => {
      const failure = await ends.get(title)
      if (failure) throw failure.error
    })
}
