/**
 * The table that every list of records is shown in. It scrolls within its panel where it is too wide; on a phone each
 * row is a card, and those of a broad table on a tablet, too. The roles stay what they are, although the style takes
 * the rows apart.
 */
import type { ReadonlySignal } from '@preact/signals'
import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'

/** Whether the window is at most `rem` wide, as it changes. */
function atMost(rem: number): ReadonlySignal<boolean> {
  const query = matchMedia(`(max-width: ${rem}rem)`)
  const is = signal(query.matches)
  query.addEventListener('change', ({ matches }) => {
    is.value = matches
  })
  return is
}

/** The style sheets' own bounds. */
const PHONE = atMost(52)
const TABLET = atMost(64)

/** A table of more columns than this does not fit next to the navigation of a tablet. */
const TABLET_COLUMNS = 5

/** One column of a table whose rows are `T`. */
export type Column<T> = {
  /** Its heading, different for each column of a table. */
  header: string
  /** The header is for screen readers alone. */
  hidden?: boolean
  cell: (row: T) => ComponentChildren
  /** Header and cells are aligned right, as numbers are. */
  right?: boolean
  /** Further classes of its cells. */
  class?: string | ((row: T) => string)
}

type Props<T> = {
  /** What a screen reader calls it. */
  label: string
  columns: readonly Column<T>[]
  rows: readonly T[]
  /** A unique key of each row. */
  keyOf: (row: T) => string
  /** Rows that no longer count. */
  faded?: (row: T) => boolean
  /** Its rows are cards on a tablet, too: by the number of its columns if absent. */
  broad?: boolean
  /** Further classes, for cards of its own. */
  class?: string
  testId?: string
}

export function Table<T>({ label, columns, rows, keyOf, faded, broad, class: further, testId }: Props<T>) {
  const cards = (broad ?? columns.length > TABLET_COLUMNS) ? TABLET.value : PHONE.value
  const classes = ['scroll', cards && 'cards', further].filter(Boolean).join(' ')
  return (
    <div class={classes} tabIndex={0} role="region" aria-label={label} data-testid={testId}>
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
