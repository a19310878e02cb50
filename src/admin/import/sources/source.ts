/** Where the tables of another gateway are read from: never written to, and never whole in memory. */

/** A row as a driver returns it. */
export type Row = Record<string, unknown>

/**
 * A database at one moment: all reads see the same state, whatever is written meanwhile. `columns` of a table: null if
 * there is no such table; empty if that cannot be known because it has no rows. `rows`: in the order of the first of
 * the columns, where the source has an order.
 */
export type Source = {
  columns: (table: string) => Promise<readonly string[] | null>
  isEmpty: (table: string) => Promise<boolean>
  rows: (table: string, columns: readonly string[]) => AsyncIterable<Row>
  close: () => Promise<void>
}

/** The rows that are read at once. */
export const BATCH = 1000

/** How long a server may take to accept a connection, in ms. */
export const CONNECT_MS = 10_000
