/**
 * The table that every list of records is shown in. It scrolls within its panel where it is too wide; on a phone each
 * row is a card, and those of a broad table on a tablet, too. The roles stay what they are, although the style takes
 * the rows apart.
 */
import type { ReadonlySignal } from '@preact/signals'
import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useLocation } from 'preact-iso'
import { t } from '../language/language.ts'
import { withFields } from './route.ts'

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

/** An order, as the address names it. */
type Order = readonly [name: string, direction: 'ascending' | 'descending']

/** The orders of lists that the server sorts by time. */
export const BY_TIME: readonly Order[] = [
  ['newest', 'descending'],
  ['oldest', 'ascending'],
]

/** What rows can be sorted by. */
type Sortable = string | number | null | undefined

/** One column of a table whose rows are `T`. */
export type Column<T> = {
  /** Its heading, different for each column of a table. */
  header: string
  /** The header is for screen readers alone. */
  hidden?: boolean
  cell: (row: T) => ComponentChildren
  /**
   * What rows are sorted by when its header is pressed: a field, or the name of a value in the address, and that value
   * of a row. Absent: it sorts nothing.
   */
  sortBy?: (keyof T & string) | readonly [name: string, of: (row: T) => Sortable]
  /** The orders in which the server lists rows by this column, for the header of a list in pages. */
  orders?: readonly Order[]
  /** Header and cells are aligned right, as numbers are. */
  right?: boolean
  /** Further classes of its cells. */
  class?: string | ((row: T) => string)
}

type Props<T> = {
  /** What a screen reader calls it. */
  label: string
  /** What the address calls it, different for each table of a page that is sorted or searched. */
  name?: string
  columns: readonly Column<T>[]
  rows: readonly T[]
  /** A unique key of each row. */
  keyOf: (row: T) => string
  /** Rows that no longer count. */
  faded?: (row: T) => boolean
  /** Its rows are cards on a tablet, too: by the number of its columns if absent; `always`: within a drawer. */
  broad?: boolean | 'always'
  /** Further classes, for cards of its own. */
  class?: string
  testId?: string
  /** The text of a row that a search looks in; absent: it is not searched. */
  textOf?: (row: T) => string
}

/** Nothing is before what has no value. */
function compared(a: Sortable, b: Sortable): number {
  if (a == null || b == null) return a == null ? (b == null ? 0 : 1) : -1
  return typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b))
}

/** What the address calls the order of a column, if rows are sorted by it. */
const nameOf = <T,>({ sortBy }: Column<T>): string | undefined => (typeof sortBy === 'object' ? sortBy[0] : sortBy)

/** Rows in the order that the address asks for: the name of a column's order, with `-` for the other direction. */
function sorted<T>(rows: readonly T[], columns: readonly Column<T>[], order: string | undefined): readonly T[] {
  const by = columns.find((column) => nameOf(column) === order?.replace(/^-/, ''))?.sortBy
  if (!by || order === undefined) return rows
  const valueOf = typeof by === 'object' ? by[1] : (row: T) => row[by] as Sortable
  const inOrder = rows.toSorted((a, b) => compared(valueOf(a), valueOf(b)))
  return order.startsWith('-') ? inOrder.toReversed() : inOrder
}

/** What the server's order of a list in pages is called in the address. */
const SERVER_FIELD = 'sort'

/** The orders of a column, that of the first press first: upwards, but numbers downwards. */
function ordersOf<T>(column: Column<T>): readonly Order[] {
  const name = nameOf(column)
  if (name === undefined) return column.orders ?? []
  const both: Order[] = [
    [name, 'ascending'],
    [`-${name}`, 'descending'],
  ]
  return column.right ? both.toReversed() : both
}

/** A header that sorts, and the other way when pressed again. A list in pages begins at its first page then. */
function Header<T>({ column, field: own }: { column: Column<T>; field: string }) {
  const { path, query, route } = useLocation()
  const { header, hidden, right, sortBy } = column
  const field = sortBy ? own : SERVER_FIELD
  const orders = ordersOf(column)
  const at = orders.findIndex(([name]) => name === query[field])
  const direction = orders[at]?.[1]
  const sort = (): void => {
    const next = { [field]: orders[(at + 1) % orders.length]![0], ...(!sortBy && { cursor: undefined }) }
    route(withFields(path, query, next), true)
  }
  return (
    <th scope="col" role="columnheader" class={right && !hidden ? 'right' : undefined} aria-sort={direction}>
      {hidden ? (
        <span class="hidden">{header}</span>
      ) : orders.length > 0 ? (
        <button type="button" class="sorts" onClick={sort}>
          {header}
          <span aria-hidden="true">{direction === undefined ? '' : direction === 'ascending' ? ' ▲' : ' ▼'}</span>
        </button>
      ) : (
        header
      )}
    </th>
  )
}

/** A table shorter than this is not searched. */
const SEARCHED_FROM = 8

export function Table<T>({ label, columns, rows: all, keyOf, faded, broad, class: further, testId, ...own }: Props<T>) {
  const { name = 'rows', textOf } = own
  const { path, query, route } = useLocation()
  const fields = { sort: `sort-${name}`, find: `find-${name}` }
  const words = (query[fields.find] ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  const isSearched = textOf !== undefined && (all.length >= SEARCHED_FROM || words.length > 0)
  const found = isSearched ? all.filter((row) => words.every((word) => textOf(row).toLowerCase().includes(word))) : all
  const rows = sorted(found, columns, query[fields.sort])
  const narrow = (broad ?? columns.length > TABLET_COLUMNS) ? TABLET.value : PHONE.value
  const cards = broad === 'always' || narrow
  const classes = ['scroll', cards && 'cards', further].filter(Boolean).join(' ')
  const table = (
    <div class={classes} tabIndex={0} role="region" aria-label={label} data-testid={testId}>
      <table role="table">
        <thead role="rowgroup">
          <tr role="row">
            {columns.map((column) => (
              <Header key={column.header} column={column} field={fields.sort} />
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
  if (!isSearched) return table
  return (
    <>
      <input
        type="search"
        class="search"
        aria-label={t.frame.searchTable(label)}
        placeholder={t.frame.searchRows(all.length)}
        value={query[fields.find] ?? ''}
        onInput={(event) => route(withFields(path, query, { [fields.find]: event.currentTarget.value }), true)}
      />
      {table}
    </>
  )
}

function classOf<T>(column: Column<T>, row: T): string | undefined {
  const further = typeof column.class === 'function' ? column.class(row) : column.class
  return [column.right && 'right', further].filter(Boolean).join(' ') || undefined
}
