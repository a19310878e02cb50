/**
 * Versions of prices. A version is named by a hash of its model and its price, so that every process names the same one
 * without asking anybody, and a price that comes back is its old version again (docs/money.md#price-versions).
 */
import { createHash } from 'node:crypto'
import type { PriceVersionId } from '../platform/ids.ts'
import type { Price } from './pricing.ts'

/** What names a version: its id, and the hash of its price, SHA-256 in hex. */
export type PriceVersion = { id: PriceVersionId; hash: string }

/** Prices are objects of a catalogue, which never change: each is hashed once. */
const known = new WeakMap<Price, Map<string, PriceVersion>>()

/** The version that a model's price is. */
export function priceVersionOf(model: string, price: Price): PriceVersion {
  const versions = known.get(price) ?? new Map<string, PriceVersion>()
  if (versions.size === 0) known.set(price, versions)
  const version = versions.get(model) ?? hashed(model, price)
  versions.set(model, version)
  return version
}

function hashed(model: string, price: Price): PriceVersion {
  const hash = createHash('sha256').update(canonical(price)).digest('hex')
  const bytes = createHash('sha256').update(`${model}\n${hash}`).digest().subarray(0, 16)
  // Version 8 of RFC 9562: the bits are our own.
  bytes[6] = (bytes[6]! & 0x0f) | 0x80
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)]
  return { id: parts.join('-') as PriceVersionId, hash }
}

/** JSON with its keys in order: the order in which a price is written makes no other price of it. */
const canonical = (price: Price): string =>
  JSON.stringify(price, (_key, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  )
