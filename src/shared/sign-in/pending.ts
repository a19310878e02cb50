/**
 * Browsers on their way through a provider. An attempt is found by its state, once, within 10 minutes, in the browser
 * that began it. What the provider answers is a pending identity of that browser: it signs nobody in and links nothing
 * by itself. Only SHA-256s of states, cookies and tokens are stored, and the database's clock decides.
 */
import { createHash, randomBytes } from 'node:crypto'
import type { MailId, PendingId, SessionId } from '../platform/ids.ts'
import { newId } from '../platform/ids.ts'
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { Claims } from './provider-client.ts'

const LIFE_MINUTES = 10
const FINISH_MINUTES = 5

const hashOf = (text: string): Buffer => createHash('sha256').update(text).digest()

/** What a browser goes to a provider for. `sessionId`: which session links an identity, or proves its user. */
export type Aim =
  | { purpose: 'sign_in'; sessionId: null; invitationHash: Buffer | null }
  | { purpose: 'link' | 'proof'; sessionId: SessionId }

/** Stores an attempt. @param browser the secret of its cookie @returns the state */
export async function beginAttempt(db: Db, provider: string, browser: string, aim: Aim): Promise<string> {
  const state = randomBytes(32).toString('base64url')
  await db('provider_attempts').insert({
    state_hash: hashOf(state),
    browser_hash: hashOf(browser),
    provider,
    purpose: aim.purpose,
    session_id: aim.sessionId,
    invitation_hash: aim.purpose === 'sign_in' ? aim.invitationHash : null,
    expires_at: db.raw('now() + make_interval(mins => ?)', [LIFE_MINUTES]),
  })
  return state
}

type AttemptRow = { purpose: Pending['purpose']; session_id: SessionId | null; invitation_hash: Buffer | null }

/** Spends a state; null if it is none of this browser and provider. `begunAt`: when it was stored. */
export async function spendAttempt(
  db: Db,
  { state, provider, browser }: { state: string; provider: string; browser: string },
): Promise<{ attempt: AttemptRow; begunAt: Date } | null> {
  const [spent] = await db('provider_attempts')
    .where({ state_hash: hashOf(state), browser_hash: hashOf(browser), provider })
    .where('expires_at', '>', db.fn.now())
    .delete()
    .returning<(AttemptRow & { expires_at: Date })[]>(['purpose', 'session_id', 'invitation_hash', 'expires_at'])
  if (!spent) return null
  const { expires_at: expiresAt, ...attempt } = spent
  return { attempt, begunAt: new Date(expiresAt.getTime() - LIFE_MINUTES * 60_000) }
}

/** A pending identity. `isVerified`: its issuer has verified the address. `mailedTo`: what a mail is to prove. */
export type Pending = {
  id: PendingId
  provider: string
  issuer: string
  subject: string
  email: string | null
  isVerified: boolean
  hasPassedFactor: boolean
  purpose: 'sign_in' | 'link' | 'proof'
  sessionId: SessionId | null
  invitationHash: Buffer | null
  mailedTo: string | null
}

const SHOWN = {
  id: 'id',
  provider: 'provider',
  issuer: 'issuer',
  subject: 'subject',
  email: 'email',
  isVerified: 'email_verified',
  hasPassedFactor: 'has_passed_factor',
  purpose: 'purpose',
  sessionId: 'session_id',
  invitationHash: 'invitation_hash',
  mailedTo: 'mailed_to',
} as const

/** Stores who came back from a provider, in place of who came back in this browser before. */
export async function storePending(
  db: Db,
  { provider, browser }: { provider: string; browser: string },
  { issuer, subject, email, isVerified, hasPassedFactor }: Claims,
  attempt: AttemptRow,
): Promise<void> {
  await db('pending_identities')
    .insert({
      id: newId('pending'),
      browser_hash: hashOf(browser),
      provider,
      issuer,
      subject,
      email,
      email_verified: isVerified,
      has_passed_factor: hasPassedFactor,
      ...attempt,
      finished_at: null,
      mail_id: null,
      mail_hash: null,
      mailed_to: null,
      created_at: db.fn.now(),
      expires_at: db.raw('now() + make_interval(mins => ?)', [LIFE_MINUTES]),
    })
    .onConflict('browser_hash')
    .merge()
}

/** Deletes attempts, pending identities and login links past their time. They are refused anyway. */
export const deleteExpiredAttempts = async (db: Db): Promise<void> => {
  for (const table of ['provider_attempts', 'pending_identities', 'login_links'])
    await db(table).where('expires_at', '<', db.fn.now()).delete()
}

const live = (db: Db | Trx, browser: string) =>
  db('pending_identities')
    .where({ browser_hash: hashOf(browser) })
    .where('expires_at', '>', db.fn.now())

/** What came back in a browser, once, within 5 minutes; its row is locked. Null if nothing did. */
export async function takeArrived(trx: Trx, browser: string): Promise<Pending | null> {
  const [row] = await live(trx, browser)
    .whereNull('finished_at')
    .whereRaw('created_at > now() - make_interval(mins => ?)', [FINISH_MINUTES])
    .update({ finished_at: trx.fn.now() })
    .returning<{ id: PendingId }[]>('id')
  return row ? readPending(trx, row.id) : null
}

const readPending = async (trx: Trx, id: PendingId): Promise<Pending | null> =>
  (await trx('pending_identities').where({ id }).first<Pending | undefined>(SHOWN)) ?? null

/** What waits in a browser to be linked to an account; null if nothing does. */
export const findWaiting = async (db: Db | Trx, browser: string): Promise<Pending | null> =>
  (await live(db, browser)
    .where({ purpose: 'sign_in' })
    .whereNotNull('finished_at')
    .first<Pending | undefined>(SHOWN)) ?? null

/** Notes the mail that is to prove an address; the token of an earlier one ends. */
export async function expectMail(
  trx: Trx,
  id: PendingId,
  { mailId, token, to }: { mailId: MailId; token: string; to: string },
): Promise<void> {
  await trx('pending_identities')
    .where({ id })
    .update({ mail_id: mailId, mail_hash: hashOf(token), mailed_to: to })
}

/** What the token of a mail is for, in the browser that asked for it, once; null for any other. */
export async function takeMailed(trx: Trx, browser: string, token: string): Promise<Pending | null> {
  const [row] = await live(trx, browser)
    .where({ mail_hash: hashOf(token) })
    .update({ mail_hash: null })
    .returning<{ id: PendingId }[]>('id')
  return row ? readPending(trx, row.id) : null
}

/** Whether a mail has this token and is still expected; for the worker that sends it. */
export const isExpected = async (trx: Trx, mailId: MailId, token: string): Promise<boolean> =>
  (await trx('pending_identities')
    .where({ mail_id: mailId, mail_hash: hashOf(token) })
    .where('expires_at', '>', trx.fn.now())
    .first('id')) !== undefined

/** Takes a pending identity away, once; null if it is not there any more. */
export async function takePending(trx: Trx, id: PendingId): Promise<Pending | null> {
  const pending = await readPending(trx, id)
  const taken = await trx('pending_identities').where({ id }).where('expires_at', '>', trx.fn.now()).delete()
  return taken === 1 ? pending : null
}
