/** Passwords: their rules, and their hashes by argon2id. */
import argon2 from 'argon2'
import bcrypt from '@node-rs/bcrypt'
import { ApiError } from '../platform/errors.ts'
import type { ErrorCode } from '../platform/errors.ts'
import { isStorable } from '../platform/text-fields.ts'

/** OWASP's minimum for t = 2; the library's own defaults make a ninth of the verifications a second. */
const PARAMETERS = { type: argon2.argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const

/**
 * One text for what different keyboards send for the same password: letters with their marks, Hangul as syllables,
 * digits and spaces of any width (NFKC, by NIST SP 800-63B-4, section 3.1.1.2).
 */
const normal = (password: string): string => password.normalize('NFKC')

/** The PHC string of a password, of its normal form. Call it within `withHashing`. */
export const hashPassword = (password: string): Promise<string> => argon2.hash(normal(password), PARAMETERS)

/** In place of a hash, of a user who has no password: they sign in at a provider or with a passkey. */
export const NO_PASSWORD = 'none'

let dummyHash: Promise<string> | undefined
const makeDummyHash = (): Promise<string> => (dummyHash ??= hashPassword('the password of nobody'))

/** Hashes of imported users: bcrypt, all of one cost, so that each takes as long as any other. */
const BCRYPT = /^\$2[aby]\$10\$[./A-Za-z0-9]{53}$/

/** The same work as a check of an imported hash. */
const DUMMY_BCRYPT = '$2y$10$LoyNX/sxgUEjqHr./V/XW.qlB55ortWpkkJmu4J.G9oUVZJa7T9w6'

/** Whether a hash is one that can be imported: it is good until the first login, which replaces it. */
export const isImportedHash = (hash: string): boolean => BCRYPT.test(hash)

/**
 * Whether a password belongs to a hash. For an account that does not exist (`null`), or has no password, the same work
 * is done on a dummy hash of equal parameters, so that timing reveals nothing. Call it within `withHashing`.
 * @param bothKinds also does the work of an imported hash for all others, so that timing does not tell them apart
 */
export async function verifyPassword(hash: string | null, password: string, bothKinds = false): Promise<boolean> {
  const known = hash === NO_PASSWORD ? null : hash
  const isImported = known !== null && isImportedHash(known)
  const own = isImported ? null : known
  const matchesOwn = await argon2.verify(own ?? (await makeDummyHash()), normal(password))
  const matchesImported =
    (isImported || bothKinds) && (await bcrypt.verify(password, isImported ? known : DUMMY_BCRYPT))
  return isImported ? matchesImported : own !== null && matchesOwn
}

/** What somebody who is signed in proves themselves with: the password; or how fresh the session is, without one. */
export type OwnProof = { password?: string | undefined; isFresh: boolean }

/**
 * Whether a proof is that of the user with this hash: the right password, or, of a user who has none, a sign-in or a
 * proof of the last 5 minutes. Call it within `withHashing`.
 * @throws ApiError invalid_request without a password; proof_required of a user who has none.
 */
export async function verifyOwner(hash: string | null, { password, isFresh }: OwnProof): Promise<boolean> {
  if (hash === NO_PASSWORD) {
    if (!isFresh) throw new ApiError('proof_required')
    return true
  }
  if (password === undefined)
    throw new ApiError('invalid_request', { message: 'password is required.', param: 'password' })
  return verifyPassword(hash, password)
}

/** Prepares the dummy hash, so that the first login is not slower than the others. */
export async function prepareDummyHash(): Promise<void> {
  await makeDummyHash()
}

/** Lengths in code points of the normal form. */
const MIN_LENGTH = 8
const MAX_LENGTH = 72

/** What is wrong with a new password, as an error code; null if nothing is. */
export function newPasswordFault(password: unknown): ErrorCode | null {
  if (typeof password !== 'string') return 'password_too_short'
  const usual = normal(password)
  const length = Array.from(usual).length
  if (length < MIN_LENGTH) return 'password_too_short'
  if (length > MAX_LENGTH) return 'password_too_long'
  if (!/\p{L}/u.test(usual) || !/\p{Nd}/u.test(usual)) return 'password_needs_letter_and_digit'
  return isStorable(password) ? null : 'invalid_request'
}

/**
 * Checks a new password.
 * @throws ApiError password_too_short, password_too_long, password_needs_letter_and_digit, or invalid_request for a NUL
 * or a lone surrogate.
 */
export function checkNewPassword(password: unknown): string {
  const fault = newPasswordFault(password)
  if (fault === 'invalid_request')
    throw new ApiError(fault, { message: 'password contains a character that cannot be stored.', param: 'password' })
  if (fault) throw new ApiError(fault, { param: 'password' })
  return password as string
}
