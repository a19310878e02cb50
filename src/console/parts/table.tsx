/**
 * The table that every list of records is shown in. It scrolls within its panel where it is too wide; on a phone each
 * row is a card. The roles stay what they are, although the style takes the rows apart.
 */
import type { ComponentChildren } from 'preact'

/** One column of a table whose rows are `T`. */
export type Column<T> = {
  /** What stands above it, different for each column of a table. */
  header: string
  /** The header is for screen readers alone. */
  hidden?: boolean
  cell: (row: T) => ComponentChildren
  /** Header and cells stand at the right, as numbers do. */
  right?: boolean
  /** Further classes of its cells. */
  class?: string | ((row: T) => string)
}

type Props<T> = {
  /** What a screen reader calls it. */
  label: string
  columns: readonly Column<T>[]
  rows: readonly T[]
  /** What tells a row from every other of the table. */
  keyOf: (row: T) => string
  /** Rows that no longer count. */
  faded?: (row: T) => boolean
  testId?: string
}

export function Table<T>({ label, columns, rows, keyOf, faded, testId }: Props<T>) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={label} data-testid={testId}>
      <table role="table">
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ header, hidden, right }) => (
              <th key={header} scope="col" role="columnheader" class={right && !hidden ? 'right' : undefined}>
                {hidden ? <span class="hidden">{header}</span> : header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr key={keyOf(row)} role="row" class={faded?.(row) ? 'faded' : undefined}>
              {columns.map((column) => (
                <td
                  key={column.header}
                  role="cell"
                  class={classOf(column, row)}
                  data-label={column.hidden ? undefined : column.header}
                >
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function classOf<T>(column: Column<T>, row: T): string | undefined {
  const further = typeof column.class === 'function' ? column.class(row) : column.class
  return [column.right && 'right', further].filter(Boolean).join(' ') || undefined
}
