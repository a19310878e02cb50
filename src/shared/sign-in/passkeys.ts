/**
 * Passkeys (WebAuthn): public keys that sign challenges of this host. A challenge works once, within 5 minutes by the
 * clock of Postgres, in any process. A passkey that has verified its user (by a PIN or a finger) is both factors.
 */
import { createHash, randomBytes } from 'node:crypto'
import { generateAuthenticationOptions, generateRegistrationOptions } from '@simplewebauthn/server'
import { verifyAuthenticationResponse, verifyRegistrationResponse } from '@simplewebauthn/server'
import { decodeAttestationObject, isoBase64URL } from '@simplewebauthn/server/helpers'
import type { Config } from '../platform/config/config.ts'
import type { PasskeyId, UserId } from '../platform/ids.ts'
import { newId, publicId } from '../platform/ids.ts'
import type { Db, Trx } from '../platform/postgres/db.ts'

/** The host that passkeys belong to, and its origin. A passkey of one host is none of another. */
export type Site = { host: string; origin: string }

/** The site of a configuration. Browsers have passkeys for names of hosts alone, not for IP addresses. */
export function siteOf({ BASE_URL }: Pick<Config, 'BASE_URL'>): Site {
  const { hostname, origin } = new URL(BASE_URL)
  return { host: hostname, origin }
}

/** The most passkeys of a user. */
export const MOST_PASSKEYS = 20

const LIFE_MINUTES = 5
const CHALLENGE_BYTES = 32
const TIMEOUT_MS = LIFE_MINUTES * 60_000

/** A passkey as its owner sees it. Times are ISO 8601 in UTC. */
export type Passkey = { id: string; name: string; createdAt: string; lastUsedAt: string | null }

/** What a browser answers when it has made a passkey, or used one: texts in base64url. */
export type MadePasskey = {
  id: string
  rawId: string
  response: { clientDataJSON: string; attestationObject: string; transports?: string[] | undefined }
}
export type UsedPasskey = {
  id: string
  rawId: string
  response: { clientDataJSON: string; authenticatorData: string; signature: string }
}

const hashOf = (text: string): Buffer => createHash('sha256').update(text).digest()
const bytesOf = (text: string): Buffer => Buffer.from(text, 'base64url')

/** Stores a new challenge. `userId`: who adds a passkey by it; null: it is for the use of one. */
async function newChallenge(db: Db | Trx, userId: UserId | null): Promise<Uint8Array<ArrayBuffer>> {
  const challenge = new Uint8Array(randomBytes(CHALLENGE_BYTES))
  await db.raw(
    `INSERT INTO passkey_challenges (challenge_hash, user_id, expires_at)
    VALUES (?, ?, now() + make_interval(mins => ?))`,
    [hashOf(isoBase64URL.fromBuffer(challenge)), userId, LIFE_MINUTES],
  )
  return challenge
}

/** Spends the challenge that a browser has signed; null if it is not good, or for something else. */
async function spendChallenge(db: Db | Trx, clientDataJSON: string, userId: UserId | null): Promise<string | null> {
  const challenge = challengeIn(clientDataJSON)
  if (challenge === null) return null
  const spent = await db('passkey_challenges')
    .where({ challenge_hash: hashOf(challenge), user_id: userId })
    .where('expires_at', '>', db.fn.now())
    .delete()
  return spent === 1 ? challenge : null
}

function challengeIn(clientDataJSON: string): string | null {
  try {
    const { challenge } = JSON.parse(bytesOf(clientDataJSON).toString('utf8')) as { challenge?: unknown }
    return typeof challenge === 'string' ? challenge : null
  } catch {
    return null
  }
}

/** Deletes expired challenges. An expired one is refused anyway. */
export const deleteExpiredChallenges = async (db: Db): Promise<number> =>
  db('passkey_challenges').where('expires_at', '<', db.fn.now()).delete()

type Stored = { credential_id: Buffer; transports: string[] }

const credentialsOf = async (db: Db | Trx, userId: UserId) =>
  (await db('passkeys').where({ user_id: userId }).select<Stored[]>('credential_id', 'transports')).map(
    ({ credential_id: id, transports }) => ({ id: id.toString('base64url'), transports }),
  )

/** What a browser makes a new passkey by, which must not be one that the user has. */
export const optionsToAdd = async (db: Db, { host }: Site, userId: UserId, email: string) =>
  generateRegistrationOptions({
    rpName: 'Tollgate',
    rpID: host,
    userName: email,
    userID: new Uint8Array(bytesOf(userId.replaceAll('-', ''))),
    challenge: await newChallenge(db, userId),
    timeout: TIMEOUT_MS,
    attestationType: 'none',
    excludeCredentials: await credentialsOf(db, userId),
    authenticatorSelection: { residentKey: 'required', userVerification: 'preferred' },
  })

/** What a browser uses a passkey by: one of a user whose password was right, or by itself, of anybody. */
export const optionsToUse = async (db: Db, { host }: Site, userId: UserId | null) =>
  generateAuthenticationOptions({
    rpID: host,
    challenge: await newChallenge(db, null),
    timeout: TIMEOUT_MS,
    userVerification: userId === null ? 'required' : 'preferred',
    ...(userId !== null && { allowCredentials: await credentialsOf(db, userId) }),
  })

/** What was made, if a browser has made it here by a challenge of this user; null if not. Spends the challenge. */
export async function verifyMade(db: Db | Trx, { host, origin }: Site, userId: UserId, made: MadePasskey) {
  const expectedChallenge = await spendChallenge(db, made.response.clientDataJSON, userId)
  if (expectedChallenge === null) return null
  return quietly(async () => {
    if (!isUnattested(made.response.attestationObject)) return null
    const { registrationInfo } = await verifyRegistrationResponse({
      response: { ...made, type: 'public-key', clientExtensionResults: {} },
      expectedChallenge,
      expectedOrigin: origin,
      expectedRPID: host,
      requireUserVerification: false,
    })
    return registrationInfo?.credential ?? null
  })
}

/** Certificates are never read: they name addresses that the library would fetch lists of revoked ones from. */
function isUnattested(attestationObject: string): boolean {
  const decoded = decodeAttestationObject(new Uint8Array(bytesOf(attestationObject)))
  return (
    decoded.get('fmt') === 'none' ||
    (decoded.get('fmt') === 'packed' && decoded.get('attStmt').get('x5c') === undefined)
  )
}

/** What the library throws is a refusal: it throws for everything that is wrong of a response. */
async function quietly<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work()
  } catch {
    return null
  }
}

/** Stores a passkey; null if it is stored already. The user's row must be locked. */
export async function insertPasskey(
  trx: Trx,
  userId: UserId,
  name: string,
  made: { id: string; publicKey: Uint8Array; counter: number; host: string; transports?: string[] | undefined },
): Promise<Passkey | null> {
  const [row] = await trx('passkeys')
    .insert({
      id: newId('passkey'),
      user_id: userId,
      credential_id: bytesOf(made.id),
      public_key: Buffer.from(made.publicKey),
      counter: made.counter,
      host: made.host,
      transports: made.transports ?? [],
      name,
    })
    .onConflict('credential_id')
    .ignore()
    .returning<Row[]>(SHOWN)
  return row ? present(row) : null
}

type Row = { id: PasskeyId; name: string; created_at: Date; last_used_at: Date | null }
const SHOWN = ['id', 'name', 'created_at', 'last_used_at']

const present = ({ id, name, created_at: createdAt, last_used_at: lastUsedAt }: Row): Passkey => ({
  id: publicId('passkey', id),
  name,
  createdAt: createdAt.toISOString(),
  lastUsedAt: lastUsedAt?.toISOString() ?? null,
})

/** The passkeys of a user, newest first. */
export const listPasskeys = async (db: Db, userId: UserId): Promise<Passkey[]> =>
  (await db('passkeys').where({ user_id: userId }).orderBy('id', 'desc').select<Row[]>(SHOWN)).map(present)

/** How many passkeys belong to another host than this one, where they are of no use. */
export async function countOfOtherHosts(db: Db, { host }: Site): Promise<number> {
  const row = await db('passkeys').whereNot({ host }).count({ many: '*' }).first<{ many: number }>()
  return Number(row.many)
}

/** Names a passkey of a user anew; null if they have no such passkey. */
export async function renamePasskey(db: Db, userId: UserId, id: PasskeyId, name: string): Promise<Passkey | null> {
  const [row] = await db('passkeys').where({ id, user_id: userId }).update({ name }).returning<Row[]>(SHOWN)
  return row ? present(row) : null
}

/** Deletes a passkey of a user; false if they have no such passkey. The user's row must be locked. */
export const deletePasskey = async (trx: Trx, userId: UserId, id: PasskeyId): Promise<boolean> =>
  (await trx('passkeys').where({ id, user_id: userId }).delete()) === 1

/** A signature that is right. `counter`: how often the authenticator has signed, if it counts. */
export type Signed = { passkeyId: PasskeyId; userId: UserId; counter: number; isVerified: boolean }

/**
 * Whose passkey has signed a challenge of this site; null if none has. Spends the challenge. `isVerified`: the
 * authenticator has verified its user. The counter is still to be noted: see `noteUse`.
 */
export async function verifyUsed(db: Db | Trx, { host, origin }: Site, used: UsedPasskey): Promise<Signed | null> {
  const expectedChallenge = await spendChallenge(db, used.response.clientDataJSON, null)
  if (expectedChallenge === null) return null
  const row = await db('passkeys')
    .where({ credential_id: bytesOf(used.id) })
    .first<{ id: PasskeyId; user_id: UserId; public_key: Buffer } | undefined>('id', 'user_id', 'public_key')
  if (!row) return null
  return quietly(async () => {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: { ...used, type: 'public-key', clientExtensionResults: {} },
      expectedChallenge,
      expectedOrigin: origin,
      expectedRPID: host,
      credential: { id: used.id, publicKey: new Uint8Array(row.public_key), counter: 0 },
      requireUserVerification: false,
    })
    const { newCounter: counter, userVerified: isVerified } = authenticationInfo
    return verified ? { passkeyId: row.id, userId: row.user_id, counter, isVerified } : null
  })
}

/**
 * Notes the use of a passkey; `gone` if it was removed meanwhile. `copied`: its counter went backwards, so there are
 * two of it, and the use is not to be accepted.
 */
export async function noteUse(trx: Trx, { passkeyId: id, counter }: Signed): Promise<'used' | 'copied' | 'gone'> {
  const used = await trx('passkeys')
    .where({ id })
    .whereRaw('(counter < ? OR (counter = 0 AND ? = 0))', [counter, counter])
    .update({ counter, last_used_at: trx.fn.now() })
  if (used === 1) return 'used'
  return (await trx('passkeys').where({ id }).first('id')) ? 'copied' : 'gone'
}
