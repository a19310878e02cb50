/** What a page gets: the parts of its path, and its query. */
export type PageProps = { params: Record<string, string | undefined>; query: Record<string, string> }

/**
 * Closes a page that was opened over another one: back to where it was opened from, so that the browser's Back does not
 * open it again; to `otherwise` where this page was the first.
 */
export function leave(route: (path: string, replace?: boolean) => void, otherwise: string): void {
  const { navigation } = window as { navigation?: { currentEntry: { index: number }; entries: () => HistoryEntry[] } }
  const before = navigation?.entries()[navigation.currentEntry.index - 1]
  if (before?.sameDocument) history.back()
  else route(otherwise, true)
}

type HistoryEntry = { sameDocument: boolean }

/** An address with some fields of its query changed; empty ones are removed. */
export function withFields(
  path: string,
  query: Record<string, string | undefined>,
  changes: Record<string, string | undefined>,
): string {
  const fields = Object.entries({ ...query, ...changes }).filter((field): field is [string, string] =>
    Boolean(field[1]),
  )
  return fields.length === 0 ? path : `${path}?${new URLSearchParams(fields)}`
}
