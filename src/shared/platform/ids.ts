/**
 * Ids: UUIDv7 (RFC 9562), made by the caller before its transaction, so that a lost COMMIT acknowledgement is
 * resolved by reading the same id again, never by making a new one. In text every kind has a prefix of its own, so
 * that an id of one kind cannot be taken for another. Pure: imports nothing of ours.
 */
import { randomFillSync } from 'node:crypto'

/** The text prefixes, one a kind of thing. */
export const PREFIXES = {
  user: 'usr',
  account: 'acc',
  key: 'key',
  call: 'call',
  grant: 'grant',
  session: 'ses',
  mail: 'mail',
  action: 'act',
  price: 'price',
  budget: 'budget',
  payment: 'pay',
  refund: 'ref',
  code: 'code',
  deduction: 'ded',
  banner: 'banner',
  webhook: 'wh',
  event: 'evt',
  delivery: 'whd',
  invitation: 'inv',
  passkey: 'pk',
  identity: 'idn',
  pending: 'pend',
} as const

/** A kind of thing that has ids. */
export type IdKind = keyof typeof PREFIXES

/** A bare UUID of a kind: what Postgres stores. The brand keeps an account's id out of a call's place. */
export type Id<K extends IdKind> = string & { readonly __id: K }

/** The id of a user: of a person, who may be a member of several accounts. */
export type UserId = Id<'user'>
/** The id of an account. */
export type AccountId = Id<'account'>
/** The id of an API key. */
export type KeyId = Id<'key'>
/** The id of a call. */
export type CallId = Id<'call'>
/** The id of a grant. */
export type GrantId = Id<'grant'>
/** The id of a session. */
export type SessionId = Id<'session'>
/** The id of a mail. */
export type MailId = Id<'mail'>
/** The id of an operator's action. */
export type ActionId = Id<'action'>
/** A version of a price. Derived from the price itself, not from the time. */
export type PriceVersionId = Id<'price'>
/** The id of a payment. */
export type PaymentId = Id<'payment'>
/** The id of a refund of a payment. */
export type RefundId = Id<'refund'>
/** The id of a redemption code. */
export type CodeId = Id<'code'>
/** The id of a deduction. */
export type DeductionId = Id<'deduction'>
/** The id of an identity. */
export type IdentityId = Id<'identity'>
/** The id of a pending identity. */
export type PendingId = Id<'pending'>
/** The id of a banner. */
export type BannerId = Id<'banner'>

/** The id of a webhook. */
export type WebhookId = Id<'webhook'>
/** The id of an event for webhooks. */
export type EventId = Id<'event'>
/** The id of an event's delivery to one webhook. */
export type DeliveryId = Id<'delivery'>
/** The id of an invitation to an organisation. */
export type InvitationId = Id<'invitation'>
/** The id of a passkey. */
export type PasskeyId = Id<'passkey'>

const POOL_BYTES = 16 * 256
const pool = Buffer.allocUnsafe(POOL_BYTES)
let poolOffset = POOL_BYTES

/** Where the next sixteen random bytes of the pool begin. Each are used once. */
function nextSixteen(): number {
  if (poolOffset === POOL_BYTES) {
    randomFillSync(pool)
    poolOffset = 0
  }
  poolOffset += 16
  return poolOffset - 16
}

/** A new UUIDv7: 48 bits of Unix milliseconds, then 74 random bits, so that new rows sort last. */
export function newId<K extends IdKind>(_kind: K): Id<K> {
  const at = nextSixteen()
  pool.writeUIntBE(Date.now(), at, 6)
  pool[at + 6] = (pool[at + 6]! & 0x0f) | 0x70
  pool[at + 8] = (pool[at + 8]! & 0x3f) | 0x80
  const hex = pool.toString('hex', at, at + 16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}` as Id<K>
}

/** How far the clock of the process that makes an id may be from the database's, in ms. */
export const CLOCKS_MS = 3_600_000

/** An id that is not larger than any that was made at this moment or later: where a range of ids by time begins. */
export function firstIdAt<K extends IdKind>(_kind: K, unixMs: number): Id<K> {
  const hex = Math.max(0, Math.floor(unixMs)).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000` as Id<K>
}

/** The text form that clients see: `call_018f…` (the UUID without dashes behind its prefix). */
export const publicId = <K extends IdKind>(kind: K, id: Id<K>): string =>
  `${PREFIXES[kind]}_${id.slice(0, 8)}${id.slice(9, 13)}${id.slice(14, 18)}${id.slice(19, 23)}${id.slice(24)}`

/**
 * The UUID behind a client's text, or null when the text is no id of that kind: such a text must never reach
 * Postgres, which answers a malformed uuid with an error (22P02).
 */
export function parseId<K extends IdKind>(kind: K, text: string): Id<K> | null {
  const match = /^([a-z]+)_([0-9a-f]{32})$/.exec(text)
  if (!match || match[1] !== PREFIXES[kind]) return null
  const hex = match[2]!
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}` as Id<K>
}
