/**
 * Invitations to an organisation: mailed, good for a week and for one acceptance, by the holder of the invited mailbox.
 * Only the hash of the token is stored; the token itself is made anew of the mail's id for each try of the mail.
 */
import { createHash } from 'node:crypto'
import { ApiError } from '../platform/errors.ts'
import type { AccountId, InvitationId, MailId } from '../platform/ids.ts'
import { newId, publicId } from '../platform/ids.ts'
import type { Db, Trx } from '../platform/postgres/db.ts'
import { requestMail } from '../mail/mails.ts'
import type { InvitationNotice } from '../mail/mails.ts'
import { mailboxOf } from '../terms/emails.ts'
import type { LiveSession } from './sessions.ts'
import { lockUserOf } from './sessions.ts'
import type { UserFields } from './users.ts'
import { lockUser } from './users.ts'
import type { SignupTerms } from './signup-credits.ts'
import type { Proven } from './verification.ts'
import { proveAddress } from './verification.ts'
import type { Budget, Period } from './budgets.ts'
import { setMemberBudget } from './member-changes.ts'
import type { GivenRole, Membership } from './members.ts'
import { addMember, lockForMembers, requireManager, roleIn } from './members.ts'
import type { Organisation } from './organisations.ts'
import { organisationOf } from './organisations.ts'

/** An invitation that can still be accepted. */
export type Invitation = {
  id: string
  email: string
  role: GivenRole
  budget: Budget | null
  /** The address of the member who sent it. */
  invitedBy: string
  createdAt: string
  expiresAt: string
}

/** How long one is good, in days. */
const LIFE_DAYS = 7

/** The most members and invitations of one organisation together. */
const MOST_MEMBERS = 1000

const TOKEN = /^[A-Za-z0-9_-]{43}$/

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest()

/** The person to invite. `email` was checked. `mint` makes the token of a mail. */
export type NewInvitation = {
  email: string
  role: GivenRole
  budget?: Budget | null | undefined
  mint: (mailId: MailId) => string
}

/**
 * Invites somebody, and asks for the mail. A second invitation of an address takes the place of the first, whose link
 * is dead then.
 * @returns the invitation, and the mail to be enqueued.
 * @param by who invites: the owner or an admin.
 * @throws ApiError forbidden; email_unverified; already_member; conflict for a person's own account, and where
 * there are too many members.
 */
export const invite = (
  db: Db,
  by: Membership,
  { email, role, budget, mint }: NewInvitation,
): Promise<{ invitation: Invitation; mailId: MailId }> =>
  db.transaction(async (trx) => {
    const { accountId } = by
    const [id, mailId] = [newId('invitation'), newId('mail')]
    await lockForMembers(trx, accountId)
    await requireManager(trx, by)
    if (!(await organisationOf(trx, by))) {
      throw new ApiError('conflict', { message: 'Your own account has no members. Create an organisation for that.' })
    }
    await requireVerified(trx, by)
    await refuseMember(trx, accountId, email)
    await trx('invitations').where({ account_id: accountId, email }).delete()
    await requestMail(trx, { id: mailId, kind: 'invitation', recipient: email, userId: null, from: by.userId })
    await trx('invitations').insert({
      id,
      account_id: accountId,
      email,
      role,
      budget_credits: budget?.credits ?? null,
      budget_period: budget?.period ?? null,
      invited_by: by.userId,
      mail_id: mailId,
      token_hash: hashOf(mint(mailId)),
      expires_at: trx.raw('now() + make_interval(days => ?)', [LIFE_DAYS]),
    })
    const invitation = (await listInvitations(trx, accountId)).find((one) => one.id === publicId('invitation', id))!
    return { invitation, mailId }
  })

/** @throws ApiError email_unverified. */
async function requireVerified(trx: Trx, { userId }: Membership): Promise<void> {
  const verified = await trx('users').where({ id: userId }).whereNotNull('email_verified_at').first('id')
  if (!verified) throw new ApiError('email_unverified')
}

/** @throws ApiError already_member; conflict if there are too many. */
async function refuseMember(trx: Trx, accountId: AccountId, email: string): Promise<void> {
  const { rows } = await trx.raw<{ rows: { isMember: boolean; many: number }[] }>(
    `
    SELECT coalesce(bool_or(u.email = :email), false) AS "isMember",
      count(*) + (SELECT count(*) FROM invitations i WHERE i.account_id = :accountId) AS many
    FROM members m JOIN users u ON u.id = m.user_id WHERE m.account_id = :accountId`,
    { accountId, email },
  )
  if (rows[0]!.isMember) throw new ApiError('already_member')
  if (rows[0]!.many < MOST_MEMBERS) return
  throw new ApiError('conflict', { message: `There are ${MOST_MEMBERS} members and invitations already.` })
}

type InvitationRow = {
  id: InvitationId
  email: string
  role: GivenRole
  budget_credits: number | null
  budget_period: Period
  inviter: string
  created_at: Date
  expires_at: Date
}

/** The invitations of an account that can still be accepted, newest first. */
export async function listInvitations(db: Db | Trx, accountId: AccountId): Promise<Invitation[]> {
  const { rows } = await db.raw<{ rows: InvitationRow[] }>(
    `
    SELECT i.*, u.email AS inviter FROM invitations i JOIN users u ON u.id = i.invited_by
    WHERE i.account_id = ? AND i.expires_at > now() ORDER BY i.id DESC`,
    [accountId],
  )
  return rows.map((row) => ({
    id: publicId('invitation', row.id),
    email: row.email,
    role: row.role,
    budget: row.budget_credits === null ? null : { credits: row.budget_credits, period: row.budget_period },
    invitedBy: row.inviter,
    createdAt: row.created_at.toISOString(),
    expiresAt: row.expires_at.toISOString(),
  }))
}

/** Deletes every invitation of an address. */
export const deleteInvitationsTo = async (trx: Trx, email: string): Promise<void> => {
  await trx('invitations').where({ email }).delete()
}

/** Revokes an invitation; false if the account has none of that id. */
export const revokeInvitation = async (db: Db, accountId: AccountId, id: InvitationId): Promise<boolean> =>
  (await db('invitations').where({ id, account_id: accountId }).delete()) === 1

type Accepted = Omit<InvitationRow, 'inviter'> & { account_id: AccountId }

/**
 * Makes a user a member by the token of an invitation, which is spent by it: of any number of simultaneous requests one
 * wins.
 * Who has the token of the mail to their own address has read it there: that proves the address, as its link would.
 * @param session of who accepts: their mailbox must be the invited one.
 * @returns the organisation, and the user and their mail where this was the first proof of their address.
 * @throws ApiError invalid_token; already_member, which spends nothing; unauthorized if the session has ended.
 */
export const acceptInvitation = (
  db: Db,
  session: LiveSession,
  token: string,
  terms: SignupTerms,
): Promise<{ organisation: Organisation; proof: Proven | null }> =>
  db.transaction(async (trx) => {
    await lockUserOf(trx, session)
    const user = (await lockUser(trx, session.userId))!
    if (!TOKEN.test(token)) throw new ApiError('invalid_token')
    return joinBy(trx, user, hashOf(token), terms)
  })

/** The same, for a user whose row is locked, by the hash of the token. What it throws must undo what it did. */
export async function joinBy(
  trx: Trx,
  user: UserFields,
  hash: Buffer,
  terms: SignupTerms,
): Promise<{ organisation: Organisation; proof: Proven | null }> {
  const found = await live(trx, hash).first<{ account_id: AccountId } | undefined>('account_id')
  if (!found || !(await lockForMembers(trx, found.account_id))) throw new ApiError('invalid_token')
  const [accepted] = await live(trx, hash).delete().returning<Accepted[]>('*')
  if (!accepted || mailboxOf(accepted.email) !== mailboxOf(user.email)) throw new ApiError('invalid_token')
  const member = { userId: user.id, accountId: accepted.account_id }
  if (await roleIn(trx, member)) throw new ApiError('already_member')
  await addMember(trx, member, accepted.role)
  if (accepted.budget_credits !== null) {
    await setMemberBudget(trx, member, { credits: accepted.budget_credits, period: accepted.budget_period })
  }
  const proof = accepted.email === user.email ? await proveAddress(trx, user, terms) : null
  return { organisation: (await organisationOf(trx, member))!, proof }
}

const live = (db: Db | Trx, hash: Buffer) =>
  db('invitations').where({ token_hash: hash }).where('invitations.expires_at', '>', db.fn.now())

/** The hash by which an invitation is found; null for a text that is no token. */
export const invitationHash = (token: string): Buffer | null => (TOKEN.test(token) ? hashOf(token) : null)

/** Whether an invitation that can be accepted is for the mailbox of an address. */
export async function isInvited(trx: Trx, hash: Buffer, email: string): Promise<boolean> {
  const found = await live(trx, hash).first<{ email: string } | undefined>('email')
  return found !== undefined && mailboxOf(found.email) === mailboxOf(email)
}

/** What an invitation shows to the reader of its link; null if it was accepted, revoked or replaced, or has expired. */
export async function invitationOfToken(
  db: Db,
  token: string,
): Promise<{ organisation: string; invitedBy: string; email: string } | null> {
  if (!TOKEN.test(token)) return null
  const row = await live(db, hashOf(token))
    .join('accounts', 'accounts.id', 'invitations.account_id')
    .join('users', 'users.id', 'invitations.invited_by')
    .whereNull('accounts.deleted_at')
    .first<{ name: string; inviter: string; email: string } | undefined>(
      'accounts.name',
      'users.email as inviter',
      'invitations.email',
    )
  return row ? { organisation: row.name, invitedBy: row.inviter, email: row.email } : null
}

/** What a mail is about, as it is now; null if the invitation was accepted, revoked or replaced, or has expired. */
export async function invitationOf(trx: Trx, mailId: MailId): Promise<InvitationNotice | null> {
  const { rows } = await trx.raw<{ rows: { name: string; inviter: string; role: GivenRole; token_hash: Buffer }[] }>(
    `
    SELECT acc.name, u.email AS inviter, i.role, i.token_hash
    FROM invitations i JOIN accounts acc ON acc.id = i.account_id JOIN users u ON u.id = i.invited_by
    WHERE i.mail_id = ? AND i.expires_at > now()`,
    [mailId],
  )
  const [row] = rows
  if (!row) return null
  const { name: organisation, inviter: invitedBy, role, token_hash: hash } = row
  return { organisation, invitedBy, role, isOfToken: (token) => hashOf(token).equals(hash) }
}

/** Deletes invitations past their time. They are refused anyway. */
export const deleteExpiredInvitations = async (db: Db): Promise<number> =>
  db('invitations').where('expires_at', '<', db.fn.now()).delete()
