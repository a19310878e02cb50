/**
 * Cursors: places in a list as opaque texts. They are signed for one list of one account, so that only a place that was
 * handed out is ever looked up.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { ApiError } from '../../shared/platform/errors.ts'
import type { AccountId } from '../../shared/platform/ids.ts'

/** Bytes of the signature: 128 bits. */
const MAC_BYTES = 16

/** Longer texts are no cursors of ours: a cursor may contain an address. */
const MAX_LENGTH = 500

/** Where a page of a list ends, as clients hand it back. */
export type Cursors = {
  /** The cursor of a place; null for none, as after the last page. */
  write: (accountId: AccountId, place: string | null) => string | null
  /** The place behind a cursor. @throws ApiError invalid_request for one that this list never gave to this account. */
  read: (accountId: AccountId, cursor: string) => string
}

/** The cursors of one list. `secret` is the server's. */
export function createCursors(
  secret: string,
  list:
    | 'calls'
    | 'ledger'
    | 'deliveries'
    | 'payments'
    | 'operated payments'
    | 'any calls'
    | 'accounts'
    | 'actions'
    | 'dead mails',
): Cursors {
  const sign = (accountId: AccountId, place: string): Buffer =>
    createHmac('sha256', secret)
      .update(`tollgate cursor\n${list}\n${accountId}\n${place}`)
      .digest()
      .subarray(0, MAC_BYTES)
  return {
    write: (accountId, place) =>
      place && Buffer.concat([sign(accountId, place), Buffer.from(place)]).toString('base64url'),
    read: (accountId, cursor) => {
      const isText = cursor.length <= MAX_LENGTH && /^[\w-]+$/.test(cursor)
      const bytes = isText ? Buffer.from(cursor, 'base64url') : Buffer.alloc(0)
      const place = bytes.subarray(MAC_BYTES).toString()
      if (bytes.length <= MAC_BYTES || !timingSafeEqual(sign(accountId, place), bytes.subarray(0, MAC_BYTES))) {
        throw new ApiError('invalid_request', { param: 'cursor', message: 'cursor is not valid for this list.' })
      }
      return place
    },
  }
}
