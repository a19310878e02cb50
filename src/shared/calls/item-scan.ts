/** Finds items in stored input without parsing it: each may be a picture of megabytes. */

/** Where an item is in the JSON of its list, in bytes, and the id by which `after` can name it. */
export type ItemPlace = { id: string | null; start: number; end: number }

/** The longest id that is read, as JSON in bytes: 200 characters, each of which may be escaped, and two quotes. */
const MAX_ID_BYTES = 1202

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_LIST = 0x5b
const BACKSLASH = 0x5c
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** Inside the list is depth 1, inside an item depth 2. */
const IN_ITEM = 2

/** Scans the JSON that `JSON.stringify` wrote for a list of objects. It comes in pieces, cut anywhere. */
export class ItemScan {
  readonly items: ItemPlace[] = []
  private at = 0
  private depth = 0
  private isText = false
  private isEscaped = false
  private start = 0
  private key = ''
  private id: string | null = null
  /** The last text directly in the item, with its quotes, or its beginning. */
  private text: number[] = []

  /** Scans the next piece, once, in time in proportion to its length. */
  push(piece: Buffer): void {
    for (let place = 0; place < piece.length; place++) {
      const byte = piece[place]!
      if (this.isText) this.inText(byte)
      else if (byte >= COMMA || byte === QUOTE) this.betweenTexts(byte, this.at + place)
    }
    this.at += piece.length
  }

  private inText(byte: number): void {
    if (this.depth === IN_ITEM && this.text.length <= MAX_ID_BYTES) this.text.push(byte)
    if (this.isEscaped) this.isEscaped = false
    else if (byte === BACKSLASH) this.isEscaped = true
    else if (byte === QUOTE) this.isText = false
  }

  private betweenTexts(byte: number, at: number): void {
    if (byte === QUOTE) {
      this.isText = true
      if (this.depth === IN_ITEM) this.text = [QUOTE]
    } else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      if (++this.depth === IN_ITEM) this.start = at
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) this.close(at)
    else if (this.depth !== IN_ITEM) return
    else if (byte === COLON) this.key = this.takeText()
    else if (byte === COMMA) this.endField()
  }

  private close(at: number): void {
    if (this.depth-- !== IN_ITEM) return
    this.endField()
    this.items.push({ id: this.id, start: this.start, end: at + 1 })
    this.id = null
  }

  private endField(): void {
    const value = this.takeText()
    if (this.key === '"id"' && value !== '') this.id = JSON.parse(value) as string
    this.key = ''
  }

  /** The last text as JSON; nothing of one that is too long, or that is deeper. */
  private takeText(): string {
    const { text } = this
    this.text = []
    return text.length > MAX_ID_BYTES ? '' : Buffer.from(text).toString()
  }
}
