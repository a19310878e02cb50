/** What a page gets: the parts of its path, and its query. */
export type PageProps = { params: Record<string, string | undefined>; query: Record<string, string> }

/** An address with some fields of its query changed; empty ones leave it. */
export function withFields(
  path: string,
  query: Record<string, string>,
  changes: Record<string, string | undefined>,
): string {
  const fields = Object.entries({ ...query, ...changes }).filter((field): field is [string, string] =>
    Boolean(field[1]),
  )
  return fields.length === 0 ? path : `${path}?${new URLSearchParams(fields)}`
}
