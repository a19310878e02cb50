/**
 * Runs scenarios, which mostly wait, in parallel. Each test awaits its own, and fails alone.
 */
export function meanwhile<Name extends string>(
  scenarios: Record<Name, () => Promise<void>>,
): Record<Name, () => Promise<void>> {
  const running = {} as Record<Name, Promise<void>>
  for (const name of Object.keys(scenarios) as Name[]) {
    running[name] = scenarios[name]()
    // Its test awaits it later.
    running[name].catch(() => {})
  }
  return Object.fromEntries(Object.entries(running).map(([name, run]) => [name, () => run as Promise<void>])) as Record<
    Name,
    () => Promise<void>
  >
}
