/**
 * The outbox. A mail is a row, written in the transaction of what causes it. The queue only points a worker to it.
 *
 * queued → sending → sent; back to queued after a try that failed; skipped when no mail was due; dead when all tries
 * failed (a dead letter). `next_try_at` is when a row may be taken, and while it is being sent, when its worker counts
 * as dead.
 */
import type { Language } from '../terms/languages.ts'
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { MailId, UserId } from '../platform/ids.ts'
import { newId, publicId } from '../platform/ids.ts'
import { withoutSecrets } from '../platform/process/log.ts'

/**
 * `address`: confirms another address of a user, and goes there; `address_notice`: notifies the current one. `access`:
 * what can use an account whose address was just proved, with a link that ends it all. `budget`: a part of the budget
 * of a key or a member is used. `webhook_off`: a webhook was disabled. `key_rotated`: an operator ended or replaced the
 * secret of a key. `invitation`: to become a member of an organisation. `sign_in_changed`: how a user signs in has
 * changed. `sign_in`: completes a sign-in at a provider that has not verified the address.
 */
export const MAIL_KINDS = [
  'verification',
  'reset',
  'address',
  'address_notice',
  'access',
  'budget',
  'receipt',
  'low_balance',
  'top_up_failed',
  'top_up_off',
  'key_rotated',
  'webhook_off',
  'invitation',
  'sign_in_changed',
  'sign_in',
] as const
/** Which text a mail has. */
export type MailKind = (typeof MAIL_KINDS)[number]
/** Mails about money, whose details have everything that is in the mail. */
export type MoneyMailKind = Extract<MailKind, 'receipt' | 'low_balance' | 'top_up_failed' | 'top_up_off'>
/** How far a mail is. `skipped` is no longer needed; `dead` was given up, until an operator retries it. */
export type MailStatus = 'queued' | 'sending' | 'sent' | 'skipped' | 'dead'

/** What a mail reports next to its link: amounts, and addresses of pages or people. */
export type MailDetails = Record<string, string | number | null>

/**
 * A mail to write. The user of a reset, an invitation or a sign-in is unknown to the caller, and stays null. `from`:
 * the user who has it sent, in whose language it is to somebody without an account.
 */
export type NewMail = {
  id: MailId
  kind: MailKind
  recipient: string
  userId: UserId | null
  from?: UserId
  details?: MailDetails
}

/** A mail that this worker has claimed. `tries` includes this one. */
export type ClaimedMail = Required<Omit<NewMail, 'from'>> & { language: Language; tries: number }

/** A mail as operators see it. */
export type MailRecord = {
  id: string
  kind: MailKind
  recipient: string
  status: MailStatus
  tries: number
  note: string | null
  createdAt: string
  finishedAt: string | null
  nextTryAt: string | null
}

const NOTE_LENGTH = 500

/** Cuts a text to what a note can hold. */
const noteOf = (text: string): string =>
  Array.from(withoutSecrets(text).toWellFormed().replaceAll('\0', '')).slice(0, NOTE_LENGTH).join('')

/**
 * Writes a mail to the outbox: once this is committed, it cannot be lost. It stays in the language that its reader has
 * now.
 */
export async function requestMail(db: Db | Trx, mail: NewMail): Promise<void> {
  const { id, kind, recipient, userId, from, details } = mail
  const language = db.raw('mail_language(?, ?, ?)', [userId, recipient, from ?? null])
  await db('mails').insert({ id, kind, recipient, user_id: userId, language, details: JSON.stringify(details ?? {}) })
}

/** Writes a mail under a new id. @returns the id, to be enqueued once this is committed. */
export async function requestNewMail(db: Db | Trx, mail: Omit<NewMail, 'id'>): Promise<MailId> {
  const id = newId('mail')
  await requestMail(db, { id, ...mail })
  return id
}

/** Claims a due mail for `leaseSeconds`; null if it is not due or another worker has it. */
export async function claimMail(db: Db, id: MailId, leaseSeconds: number): Promise<ClaimedMail | null> {
  const { rows } = await db.raw<{
    rows: (Pick<ClaimedMail, 'kind' | 'recipient' | 'language' | 'tries' | 'details'> & { user_id: UserId | null })[]
  }>(
    `
    UPDATE mails SET status = 'sending', tries = tries + 1, next_try_at = now() + make_interval(secs => ?)
    WHERE id = ? AND status IN ('queued', 'sending') AND next_try_at <= now()
    RETURNING kind, recipient, user_id, language, tries, details`,
    [leaseSeconds, id],
  )
  const row = rows[0]
  if (!row) return null
  const { user_id: userId, ...rest } = row
  return { id, userId, ...rest }
}

/** In how many ms a mail is due; null if it is finished or does not exist. */
export async function dueInMs(db: Db, id: MailId): Promise<number | null> {
  const { rows } = await db.raw<{ rows: { ms: number }[] }>(
    `
    SELECT greatest(0, ceil(extract(epoch FROM next_try_at - now()) * 1000))::bigint AS ms
    FROM mails WHERE id = ? AND status IN ('queued', 'sending')`,
    [id],
  )
  return rows[0]?.ms ?? null
}

/** Records that a mail was delivered, or that none was due and why. Not guarded by the try: any try may record it. */
export async function finishMail(
  db: Db,
  id: MailId,
  status: 'sent' | 'skipped',
  note: string | null = null,
): Promise<void> {
  await db('mails')
    .where({ id })
    .whereIn('status', ['queued', 'sending'])
    .update({ status, note, finished_at: db.fn.now() })
}

/** How a try ended. `pauseMs` is the pause before the next one; null makes the mail a dead letter. */
export type FailedTry = { id: MailId; tries: number; reason: string; pauseMs: number | null }

/** Records a failed try. Changes nothing if another worker has meanwhile taken the mail over. */
export async function failTry(db: Db, { id, tries, reason, pauseMs }: FailedTry): Promise<void> {
  const next =
    pauseMs === null
      ? { status: 'dead', finished_at: db.fn.now() }
      : { status: 'queued', next_try_at: db.raw(`now() + ? * interval '1 millisecond'`, [pauseMs]) }
  await db('mails')
    .where({ id, tries, status: 'sending' })
    .update({ ...next, note: noteOf(reason) })
}

/** Mails that have been due for `graceSeconds`: their job was lost or is late. The longest due first. */
export async function dueMails(db: Db, graceSeconds: number, limit: number): Promise<MailId[]> {
  return db('mails')
    .whereIn('status', ['queued', 'sending'])
    .whereRaw('next_try_at <= now() - make_interval(secs => ?)', [graceSeconds])
    .orderBy('next_try_at')
    .limit(limit)
    .pluck<MailId[]>('id')
}

/**
 * How long the mail that has been due longest waits already, in seconds (0 if none is due), and how many were given
 * up.
 */
export async function mailBacklog(db: Db): Promise<{ oldestDueSeconds: number; dead: number }> {
  const { rows } = await db.raw<{ rows: { seconds: number | null; dead: number }[] }>(`
    SELECT
      (SELECT extract(epoch FROM now() - min(next_try_at))::float8 FROM mails WHERE status IN ('queued', 'sending'))
        AS seconds,
      (SELECT count(*) FROM mails WHERE status = 'dead' AND finished_at IS NOT NULL) AS dead`)
  return { oldestDueSeconds: Math.max(0, rows[0]!.seconds ?? 0), dead: rows[0]!.dead }
}

/** Verification mails of a user in the last hour. The user's row must be locked. */
export async function verificationsOfLastHour(
  trx: Trx,
  userId: UserId,
  limit: number,
): Promise<{ count: number; oldestLeavesInSeconds: number }> {
  const { rows } = await trx.raw<{ rows: { count: number; seconds: number | null }[] }>(
    `
    SELECT count(*), ceil(extract(epoch FROM min(created_at) + interval '1 hour' - now()))::bigint AS seconds
    FROM (SELECT created_at FROM mails
      WHERE user_id = ? AND kind = 'verification' AND created_at > now() - interval '1 hour'
      ORDER BY created_at DESC LIMIT ?) recent`,
    [userId, limit],
  )
  return { count: rows[0]!.count, oldestLeavesInSeconds: Math.max(1, rows[0]!.seconds ?? 1) }
}

type MailRow = {
  id: MailId
  kind: MailKind
  recipient: string
  status: MailStatus
  tries: number
  note: string | null
  created_at: Date
  finished_at: Date | null
  next_try_at: Date
}

/** At most `limit` mails of these states before `before`, newest first. */
export async function listMails<S extends MailStatus>(
  db: Db,
  statuses: readonly S[],
  limit: number,
  before: MailId | null = null,
): Promise<(MailRecord & { status: S })[]> {
  const rows = await db('mails')
    .whereIn('status', [...statuses])
    .modify((query) => {
      if (before) void query.where('id', '<', before)
    })
    .orderBy('id', 'desc')
    .limit(limit)
    .select<(MailRow & { status: S })[]>('*')
  return rows.map((row) => ({
    id: publicId('mail', row.id),
    kind: row.kind,
    recipient: row.recipient,
    status: row.status,
    tries: row.tries,
    note: row.note,
    createdAt: row.created_at.toISOString(),
    finishedAt: row.finished_at?.toISOString() ?? null,
    nextTryAt: row.finished_at ? null : row.next_try_at.toISOString(),
  }))
}

/** Retries dead letters, one or all, with a full set of tries. @returns how many. */
export const requeueMails = async (db: Db | Trx, id: MailId | 'all'): Promise<number> =>
  deadMails(db, id).update({ status: 'queued', tries: 0, next_try_at: db.fn.now(), finished_at: null })

/** Gives up on dead letters for good, on one or all. @returns how many. */
export const discardMails = async (db: Db | Trx, id: MailId | 'all'): Promise<number> =>
  deadMails(db, id).update({ status: 'skipped', note: 'discarded by an operator' })

const deadMails = (db: Db | Trx, id: MailId | 'all') =>
  db('mails').where({ status: 'dead', ...(id !== 'all' && { id }) })

/** How long finished mails are stored, in days. A skipped one may hold the address of somebody who has no account. */
const KEPT_DAYS = { skipped: 2, sent: 30, dead: 90 } as const

/** Deletes finished mails past their time, and with them their links. */
export async function deleteOldMails(db: Db): Promise<number> {
  const pastItsTime = '(status = ? AND finished_at < now() - make_interval(days => ?))'
  const { rowCount } = await db.raw<{ rowCount: number }>(
    `DELETE FROM mails WHERE ${Object.keys(KEPT_DAYS)
      .map(() => pastItsTime)
      .join(' OR ')}`,
    Object.entries(KEPT_DAYS).flat(),
  )
  return rowCount
}

/** Deletes every mail to a user or their address, and with them their links. */
export async function deleteMailsOf(trx: Trx, userId: UserId, email: string): Promise<void> {
  await trx('mails').where({ user_id: userId }).orWhere({ recipient: email }).delete()
}

/**
 * That `percent` of a budget were `used`, without what running calls hold: of a key, by its name, or of a member of an
 * organisation, who may be the reader. `resetsAt`: when its window ends; null for a total.
 */
export type BudgetNotice = {
  whose: { key: string } | { email: string; organisation: string; isYou: boolean }
  percent: 80 | 100
  used: number
  credits: number
  resetsAt: Date | null
}

/** What the mail of an invitation reports; `isOfToken`: whether a token is the one that accepts it. */
export type InvitationNotice = {
  organisation: string
  invitedBy: string
  role: 'admin' | 'member'
  isOfToken: (token: string) => boolean
}
