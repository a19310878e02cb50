/**
 * Where a sign-in at a provider returns to: stored in this tab while the page is away.
 */
const PLACE = 'tollgate.provider-return'

/** `next`: the page to show then. `stay`: whether the session lasts beyond the tab. */
export type Return = { next: string; stay: boolean }

/** What was stored; the overview if nothing was, or the browser forbids storage. */
export function keptReturn(): Return {
  try {
    const { next = '/overview', stay = false } = JSON.parse(sessionStorage.getItem(PLACE) ?? '{}') as Partial<Return>
    return { next: String(next), stay: stay === true }
  } catch {
    return { next: '/overview', stay: false }
  }
}

/** Stores where to return to. */
export function keepReturn(value: Return): void {
  try {
    sessionStorage.setItem(PLACE, JSON.stringify(value))
  } catch {
    // The overview is shown then.
  }
}
