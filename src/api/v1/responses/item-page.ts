/**
 * Pages of the items that a response was asked with. Items may be pictures of megabytes, so a page is bounded by bytes,
 * and its bytes are those that are stored.
 */
import type { ItemPlace } from '../../../shared/calls/stored-responses.ts'

/** The most bytes of the items of a page, but for one item alone. */
const PAGE_BYTES = 2 * 1_048_576

/** How many items a page has by default. */
const SOME_ITEMS = 20

type Wanted = { limit?: number | undefined; order?: 'asc' | 'desc' | undefined; after?: string | undefined }

/** A page before its items are read: where they are, what is around them, and the length of all of it in bytes. */
export type ItemPage = { items: readonly ItemPlace[]; head: string; tail: string; bytes: number }

/** A page of these items, which are in the order in which they were sent. It has the next one, of any length. */
export function itemPage(input: readonly ItemPlace[], { limit = SOME_ITEMS, order, after }: Wanted): ItemPage {
  const ordered = order === 'asc' ? input : input.toReversed()
  const from = after === undefined ? 0 : ordered.findIndex(({ id }) => id === after) + 1
  const items: ItemPlace[] = []
  let bytes = 0
  for (const item of ordered.slice(from, from + limit)) {
    const more = item.end - item.start + (items.length > 0 ? 1 : 0)
    if (items.length > 0 && bytes + more > PAGE_BYTES) break
    bytes += more
    items.push(item)
  }
  const around = JSON.stringify({
    object: 'list',
    data: [],
    first_id: items[0]?.id ?? null,
    last_id: items.at(-1)?.id ?? null,
    has_more: from + items.length < ordered.length,
  })
  const inside = around.indexOf('[') + 1
  const [head, tail] = [around.slice(0, inside), around.slice(inside)]
  return { items, head, tail, bytes: bytes + Buffer.byteLength(around) }
}

/** Writes a page into its body, from pieces of what it is a page of. */
export class PageWriter {
  readonly body: Buffer
  private readonly places: { start: number; end: number; to: number }[] = []
  private at = 0

  constructor({ items, head, tail, bytes }: ItemPage) {
    this.body = Buffer.alloc(bytes, ',')
    let to = this.body.write(head)
    for (const { start, end } of items) {
      this.places.push({ start, end, to })
      to += end - start + 1
    }
    this.body.write(tail, bytes - Buffer.byteLength(tail))
  }

  /** Takes the next piece. */
  push(piece: Buffer): void {
    const [from, until] = [this.at, this.at + piece.length]
    for (const { start, end, to } of this.places) {
      if (start >= until || end <= from) continue
      const first = Math.max(start, from)
      piece.copy(this.body, to + first - start, first - from, Math.min(end, until) - from)
    }
    this.at = until
  }
}
