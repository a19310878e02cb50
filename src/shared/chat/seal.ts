/**
 * What only the account and the route that it was made for may read again: a vendor's proofs of what its model thought,
 * on their way through the client. Encrypted and authenticated with a secret of the gateway.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import type { Fields } from '../platform/fields.ts'
import { objectOf } from '../platform/fields.ts'
import type { AccountId } from '../platform/ids.ts'

/** Opens what was sealed for an account and a route; null for what was sealed for others, or by somebody else. */
export type Open = (sealed: string) => Fields | null

/** Who may open: an account, at a route. `route`: what names it, and no other. */
export type Sealed = { accountId: AccountId; route: string }

/** Seals for an account and a route, and opens. */
export type Seal = { seal: (fields: Fields) => string; open: Open }

/** What everything that was sealed begins with: no vendor's own proof does. */
const MARK = 'tollgate1.'

/** Whether a text was sealed by a gateway, for this route or another. */
export const isSealed = (text: string): boolean => text.startsWith(MARK)

const CIPHER = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16

/** Seals for an account at one route. @param secret the gateway's */
export function sealFor(secret: string, { accountId, route }: Sealed): Seal {
  const bound = Buffer.from(`${accountId} ${route}`)
  const keyOf = (): Buffer => Buffer.from(hkdfSync('sha256', secret, '', 'tollgate sealed reasoning', 32))
  return {
    seal: (fields) => {
      const iv = randomBytes(IV_BYTES)
      const cipher = createCipheriv(CIPHER, keyOf(), iv, { authTagLength: TAG_BYTES }).setAAD(bound)
      const text = Buffer.concat([cipher.update(JSON.stringify(fields), 'utf8'), cipher.final()])
      return MARK + Buffer.concat([iv, cipher.getAuthTag(), text]).toString('base64url')
    },
    open: (sealed) => {
      const bytes = Buffer.from(sealed.slice(isSealed(sealed) ? MARK.length : 0), 'base64url')
      if (bytes.length <= IV_BYTES + TAG_BYTES) return null
      try {
        const decipher = createDecipheriv(CIPHER, keyOf(), bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
          .setAAD(bound)
          .setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
        const text = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()])
        return objectOf(String(text))
      } catch {
        return null
      }
    },
  }
}

/** Seals nothing, and opens nothing. */
export const NO_SEAL: Seal = { seal: () => '', open: () => null }
