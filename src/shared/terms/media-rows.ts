/** Rows of what pictures and videos cost, by their shape: which of them counts. Pure. */

/** What is exactly due: a numerator and its denominator. */
export type Exact = readonly [due: bigint, of: bigint]

/** Of which pictures or videos a row is: of any, as far as it names nothing. Only pictures have sizes and qualities. */
export type RowShape = { resolution?: string; size?: string; quality?: string }

/**
 * What decides the price of a picture or a video: what the upstream is sent. The size (where no resolution is sent
 * either) and the quality of a picture may be left to the upstream.
 */
export type MediaShape = RowShape & { duration?: number }

/** Size and quality of pictures that were made, as far as they are known. */
export type CameAs = Pick<RowShape, 'size' | 'quality'>

const isSizeOpen = ({ resolution, size }: RowShape): boolean => size === undefined && resolution === undefined

/** A shape in which what the upstream chose is as it came. */
export const shapeAsCame = (shape: MediaShape, { size, quality }: CameAs): MediaShape => ({
  ...shape,
  ...(isSizeOpen(shape) && size !== undefined && { size }),
  ...(shape.quality === undefined && quality !== undefined && { quality }),
})

/**
 * The row of the most that a shape can cost: the first row that fits it or, where something of it is left to the
 * upstream, of the dearest that may fit. Null where none may, or where one that does has no cost.
 */
export function dearestOf<Row extends RowShape>(
  rows: readonly Row[],
  shape: MediaShape,
  costOf: (row: Row) => Exact | null,
): { row: Row; cost: Exact } | null {
  let dearest: { row: Row; cost: Exact } | null = null
  for (const row of rows) {
    if (!mayFit(row, shape)) continue
    const cost = costOf(row)
    if (cost === null) return null
    if (dearest === null || cost[0] * dearest.cost[1] > dearest.cost[0] * cost[1]) dearest = { row, cost }
    // It fits everything: no row after it counts.
    if (isOf(row.size, shape.size) && isOf(row.quality, shape.quality)) break
  }
  return dearest
}

/** Whether a row is of what is asked for: of the same, or of any. */
const isOf = (ofRow: string | undefined, asked: string | undefined): boolean => ofRow === undefined || ofRow === asked

const mayFit = (row: RowShape, shape: MediaShape): boolean =>
  isOf(row.resolution, shape.resolution) &&
  (isSizeOpen(shape) || isOf(row.size, shape.size)) &&
  (shape.quality === undefined || isOf(row.quality, shape.quality))
