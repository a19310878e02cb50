/**
 * Runs scenarios that mostly wait beside each other, each test awaiting its own: seconds of one lie in the seconds of
 * another. A scenario that fails fails its own test alone.
 */
export function meanwhile<Name extends string>(
  scenarios: Record<Name, () => Promise<void>>,
): Record<Name, () => Promise<void>> {
  const running = {} as Record<Name, Promise<void>>
  for (const name of Object.keys(scenarios) as Name[]) {
    running[name] = scenarios[name]()
    // Looked at by its test, later.
    running[name].catch(() => {})
  }
  return Object.fromEntries(Object.entries(running).map(([name, run]) => [name, () => run as Promise<void>])) as Record<
    Name,
    () => Promise<void>
  >
}
