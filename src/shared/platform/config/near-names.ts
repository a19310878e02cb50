/**
 * Names that nothing reads and that resemble one of ours, of variables and of fields: a typing error would else have
 * no effect, and nobody would notice.
 */

/** How many letters must be changed, added, taken away or swapped with their neighbour to make one text the other. */
function distance(one: string, other: string): number {
  const rows = [Array.from({ length: other.length + 1 }, (_, column) => column)]
  for (let row = 1; row <= one.length; row++) {
    rows.push([row])
    for (let column = 1; column <= other.length; column++) {
      const same = one[row - 1] === other[column - 1]
      let least = Math.min(
        rows[row - 1]![column]! + 1,
        rows[row]![column - 1]! + 1,
        rows[row - 1]![column - 1]! + (same ? 0 : 1),
      )
      if (row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]) {
        least = Math.min(least, rows[row - 2]![column - 2]! + 1)
      }
      rows[row]!.push(least)
    }
  }
  return rows[one.length]![other.length]!
}

/** A short name has few letters to get wrong: one in four, three at the most. */
const letters = (known: string): number => Math.min(3, Math.max(1, Math.floor(known.length / 4)))

/** Whether one name is the other and more words: `DATABASE_POOL_SIZE`. Of one word, such as PORT, many begin. */
const continues = (longer: string, shorter: string): boolean =>
  shorter.includes('_') && longer.startsWith(`${shorter}_`)

const isPart = (one: string, other: string): boolean => continues(one, other) || continues(other, one)

/** The known name that a name resembles, in any case; null if it is known, or resembles none. */
export function nearestName(name: string, known: readonly string[]): string | null {
  if (known.includes(name)) return null
  const upper = name.toUpperCase()
  const near = known
    // Most are too long or too short: two texts are at least as far apart as their lengths.
    .filter((one) => Math.abs(upper.length - one.length) <= letters(one) || isPart(upper, one))
    .map((one) => ({ one, edits: distance(upper, one.toUpperCase()) }))
    .filter(({ one, edits }) => edits <= letters(one) || isPart(upper, one))
    .toSorted((a, b) => a.edits - b.edits)
  return near[0]?.one ?? null
}
