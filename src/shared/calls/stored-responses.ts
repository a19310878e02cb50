/**
 * Responses that later requests may refer to: next to their answers, which are stored as every call's, the items that
 * they were asked with. These go when the answer goes.
 */
import { pipeline } from 'node:stream'
import { promisify } from 'node:util'
import { bulkhead } from 'cockatiel'
import { createGunzip, gzip } from 'node:zlib'
import type { Db } from '../platform/postgres/db.ts'
import type { Membership } from '../identity/members.ts'
import type { AccountId, CallId } from '../platform/ids.ts'
import { asFields, listOf } from '../platform/fields.ts'
import type { Fields } from '../platform/fields.ts'
import { AnswerGone } from './stored-answers.ts'

const compress = promisify(gzip)

/** From how many bytes, compressed, an input is counted before it is stored: shorter ones cost what bounds them. */
const COUNTED_BYTES = 262_144

/** The most bytes of counted inputs that are stored for one account. */
const MOST_KEPT_BYTES = 1_073_741_824

/**
 * Stores what a response was asked with, once its answer is stored. Pictures cost little, and each response that goes
 * on with an earlier one has its pictures again: of large inputs an account has no more than `mostBytes`.
 */
export async function storeInput(
  db: Db,
  { callId, accountId }: { callId: CallId; accountId: AccountId },
  items: readonly Fields[],
  mostBytes: number = MOST_KEPT_BYTES,
): Promise<void> {
  const isMissing = await db('call_results').where({ call_id: callId }).whereNull('input').first('call_id')
  if (!isMissing) return
  const input = await compressed(db, accountId, items, mostBytes)
  if (input) await db('call_results').where({ call_id: callId }).update({ input })
}

/**
 * Stores what a response in the background was asked with, while it is made: its client may refer to it as soon as it
 * has ended. The end of its call adds the answer and decides how long both are stored.
 */
export async function storeInputFirst(
  db: Db,
  { callId, accountId }: { callId: CallId; accountId: AccountId },
  items: readonly Fields[],
): Promise<void> {
  const input = await compressed(db, accountId, items, MOST_KEPT_BYTES)
  if (!input) return
  await db.raw(
    `INSERT INTO call_results (call_id, output, input, expires_at) VALUES (?, '', ?, now() + interval '1 day')
    ON CONFLICT (call_id) DO UPDATE SET input = EXCLUDED.input`,
    [callId, input],
  )
}

/** The items of an input as they are stored; null if the account has as many bytes of large inputs as it may. */
async function compressed(
  db: Db,
  accountId: AccountId,
  items: readonly Fields[],
  mostBytes: number,
): Promise<Buffer | null> {
  const input = await compress(JSON.stringify(items))
  const isTooMuch = input.length > COUNTED_BYTES && (await keptBytes(db, accountId)) + input.length > mostBytes
  return isTooMuch ? null : input
}

/** The bytes of the large inputs that are stored for an account. They are counted without being read. */
async function keptBytes(db: Db, accountId: AccountId): Promise<number> {
  const { rows } = await db.raw<{ rows: { bytes: string }[] }>(
    `
    SELECT coalesce(sum(octet_length(r.input)), 0) AS bytes
    FROM calls c JOIN call_results r ON r.call_id = c.id
    WHERE c.account_id = :accountId AND c.dialect = 'responses' AND octet_length(r.input) > :counted`,
    { accountId, counted: COUNTED_BYTES },
  )
  return Number(rows[0]!.bytes)
}

/** Deletes a member's stored response. @returns whether there was one */
export async function forgetResponse(db: Db, { userId, accountId }: Membership, callId: CallId): Promise<boolean> {
  const { rowCount } = await db.raw<{ rowCount: number }>(
    `
    DELETE FROM call_results r USING calls c
    WHERE c.id = r.call_id AND r.call_id = :callId AND c.account_id = :accountId AND c.user_id = :userId
      AND c.dialect = 'responses' AND c.finished_at IS NOT NULL`,
    { callId, userId, accountId },
  )
  return rowCount > 0
}

/** A stored response: what it was asked with, and what it answered; their length as JSON, in bytes. */
export type StoredResponse = { input: Fields[]; output: Fields[]; bytes: number }

/** A member's stored responses among these calls. @returns null if they have more than `maxBytes` together */
export async function findResponses(
  db: Db,
  holder: Membership,
  ids: readonly CallId[],
  maxBytes: number,
): Promise<Map<CallId, StoredResponse> | null> {
  const found = new Map<CallId, StoredResponse>()
  let left = maxBytes
  // One after the other: a compressed input may be a thousand times as long as it is stored.
  for (const id of ids) {
    const response = await read(db, holder, id, left)
    if (response === 'missing') continue
    if (response === 'too_long') return null
    left -= response.bytes
    found.set(id, response)
  }
  return found
}

type Read = StoredResponse | 'missing' | 'too_long'

async function read(db: Db, holder: Membership, id: CallId, maxBytes: number): Promise<Read> {
  const row = await find(db, holder, id, maxBytes)
  if (!row) return 'missing'
  const { output } = row
  if (output === null || Buffer.byteLength(output) + row.bytes > maxBytes) return 'too_long'
  const response = await withPieces(db, row, async ({ bytes, pieces }) => {
    const input = Buffer.allocUnsafe(bytes)
    let at = 0
    for await (const piece of pieces()) at += piece.copy(input, at)
    return {
      input: listOf(JSON.parse(String(input))),
      output: listOf(asFields(JSON.parse(output)).output),
      bytes: Buffer.byteLength(output) + bytes,
    }
  })
  return response ?? 'missing'
}

/** What a response was asked with, as JSON: its length in bytes, and what unpacks it, a piece at a time. */
export type StoredInput = { bytes: number; pieces: () => AsyncIterable<Buffer> }

/**
 * Hands what a member's response was asked with to `use`, for as long as it works. Of large ones, one is in use at a
 * time in a process, and those that wait hold nothing of theirs.
 * @returns null if there is no such response
 */
export async function withInput<T>(
  db: Db,
  holder: Membership,
  id: CallId,
  use: (input: StoredInput) => Promise<T>,
): Promise<T | null> {
  const row = await find(db, holder, id, 0)
  return row && (await withPieces(db, row, use))
}

/** Longer inputs are unpacked one at a time in a process, in bytes. */
const LARGE_BYTES = 1_048_576

const large = bulkhead(1, Infinity)

/** A stored response: its output unless it is too long, its input unless that is counted, the input's length. */
type Row = { id: CallId; output: string | null; input: Buffer | null; bytes: number }

async function find(db: Db, { userId, accountId }: Membership, id: CallId, maxBytes: number): Promise<Row | null> {
  const { rows } = await db.raw<{ rows: { output: string | null; input: Buffer | null; length: Buffer }[] }>(
    `
    SELECT CASE WHEN octet_length(r.output) <= :maxBytes THEN r.output END AS output,
      CASE WHEN octet_length(r.input) <= :counted THEN r.input END AS input,
      -- The length of what was compressed is at the end (RFC 1952, 2.3.1).
      substring(r.input FROM octet_length(r.input) - 3) AS length
    FROM calls c JOIN call_results r ON r.call_id = c.id
    WHERE c.id = :id AND c.account_id = :accountId AND c.user_id = :userId AND c.dialect = 'responses'
      AND c.status = 'succeeded' AND r.input IS NOT NULL AND r.expires_at > now()`,
    { id, userId, accountId, maxBytes, counted: COUNTED_BYTES },
  )
  const [row] = rows
  return row ? { id, output: row.output, input: row.input, bytes: row.length.readUInt32LE() } : null
}

/** @returns null if the response was deleted while it was read */
async function withPieces<T>(
  db: Db,
  { id, input, bytes }: Row,
  use: (input: StoredInput) => Promise<T>,
): Promise<T | null> {
  const pieces = (): AsyncIterable<Buffer> =>
    // The reader of the pieces gets an error.
    pipeline(input ? [input] : slicesOf(db, id), createGunzip({ chunkSize: COUNTED_BYTES }), () => {})
  const work = async (): Promise<T | null> => await use({ bytes, pieces }).catch(unlessGone)
  return bytes <= LARGE_BYTES ? await work() : await large.execute(work)
}

/** The length of a slice of a compressed input, in bytes. */
const SLICE_BYTES = 1_048_576

/** A compressed input in slices. @throws AnswerGone */
async function* slicesOf(db: Db, id: CallId): AsyncGenerator<Buffer, void, void> {
  for (let from = 1, length = SLICE_BYTES; length === SLICE_BYTES; from += length) {
    const { rows } = await db.raw<{ rows: { slice: Buffer }[] }>(
      'SELECT substring(input FROM ? FOR ?) AS slice FROM call_results WHERE call_id = ?',
      [from, SLICE_BYTES, id],
    )
    const slice = rows[0]?.slice
    if (!slice) throw new AnswerGone('a stored input was deleted before it was read')
    yield slice
    ;({ length } = slice)
  }
}

function unlessGone(error: unknown): null {
  if (error instanceof AnswerGone) return null
  throw error
}

/** The model that a response was asked of, and when, in Unix seconds; null if this member has no such response. */
export async function findAsked(
  db: Db,
  { userId, accountId }: Membership,
  id: CallId,
): Promise<{ model: string; created: number } | null> {
  const row = await db('calls')
    .where({ id, account_id: accountId, user_id: userId, dialect: 'responses' })
    .first<{ model: string; created_at: Date } | undefined>('model', 'created_at')
  return row ? { model: row.model, created: Math.floor(row.created_at.getTime() / 1000) } : null
}

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

/**
 * Scans the JSON that `JSON.stringify` wrote for a list of objects, without parsing it: each may be a picture of
 * megabytes. It comes in pieces, cut anywhere.
 */
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
