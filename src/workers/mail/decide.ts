/**
 * Decides whether a mail is due, and writes it. Decided here and not when the mail is requested: the requester of a
 * reset must not notice whether the address has an account, or has reached its limit of mails.
 */
import { mailboxOf } from '../../shared/users/emails.ts'
import { noticeOf } from '../../shared/accounts/budget-notices.ts'
import type { LinkKind, TokenMint } from '../../shared/users/one-time-tokens.ts'
import { isIssued, issueToken, lockMailbox, tokensOfLastHour } from '../../shared/users/one-time-tokens.ts'
import type { UserFields } from '../../shared/users/users.ts'
import { findUserByEmail, lockUser } from '../../shared/users/users.ts'
import type { Db, Trx } from '../../shared/infra/db.ts'
import type { MailContent } from '../../shared/mail/templates.ts'
import {
  addressMail,
  addressNotice,
  budgetMail,
  keyMail,
  moneyMail,
  resetMail,
  verificationMail,
} from '../../shared/mail/templates.ts'
import type { ClaimedMail } from '../../shared/mail/mails.ts'

/** `skip`: why this mail is not sent, for operators. */
export type Decision = { content: MailContent } | { skip: string }

/** `previous` makes the tokens of a secret that was replaced: mails that were tried with one keep it. */
type Terms = { mint: TokenMint; previous?: TokenMint; baseUrl: string; hourlyLimit: number }

/** Decides, and activates the link of a mail that is to be sent. Notices and mails about money are always due. */
export async function decide(db: Db, mail: ClaimedMail, terms: Terms): Promise<Decision> {
  const { kind } = mail
  if (kind === 'budget') return db.transaction((trx) => decideOfBudget(trx, mail, terms.baseUrl))
  if (kind === 'verification' || kind === 'reset' || kind === 'address')
    return decideOfLink(db, { ...mail, kind }, terms)
  if (kind === 'key_rotated') return { content: keyMail(terms.baseUrl, mail.details) }
  if (kind === 'address_notice') return { content: addressNotice(terms.baseUrl, mail.details) }
  return { content: moneyMail(terms.baseUrl, kind, mail.details) }
}

async function decideOfBudget(trx: Trx, mail: ClaimedMail, baseUrl: string): Promise<Decision> {
  if (!(await userOf(trx, mail))) return { skip: 'the account has another address' }
  const notice = await noticeOf(trx, mail.id)
  return notice
    ? { content: budgetMail(baseUrl, notice) }
    : { skip: 'the key was revoked, or has another budget since' }
}

const WRITERS = { verification: verificationMail, reset: resetMail, address: addressMail } as const

/** Why a link has nobody whom it is for. */
const SKIPPED = {
  verification: 'no account has this address',
  reset: 'no account has this address',
  address: 'an account has this address already',
} as const satisfies Record<LinkKind, string>

async function decideOfLink(
  db: Db,
  mail: ClaimedMail & { kind: LinkKind },
  { mint, previous, baseUrl, hourlyLimit }: Terms,
): Promise<Decision> {
  const mailbox = mailboxOf(mail.recipient)
  return db.transaction(async (trx) => {
    await lockMailbox(trx, mailbox)
    const user = await (mail.kind === 'address' ? whoWants(trx, mail) : userOf(trx, mail))
    if (!user) return { skip: SKIPPED[mail.kind] }
    if (mail.kind === 'verification' && user.email_verified_at) return { skip: 'the address is verified already' }
    if ((await tokensOfLastHour(trx, mailbox, mail.kind, mail.id)) >= hourlyLimit) {
      return { skip: `the mailbox had its ${mail.kind} mails for this hour` }
    }
    const earlier = previous?.(mail.kind, mail.id)
    const isOld = earlier !== undefined && (await isIssued(trx, mail.id, earlier))
    const token = isOld ? earlier : mint(mail.kind, mail.id)
    if (!(await issueToken(trx, { mailId: mail.id, userId: user.id, purpose: mail.kind, token, mailbox }))) {
      return { skip: 'the link was used, or the password changed since' }
    }
    return { content: WRITERS[mail.kind](baseUrl, mail.recipient, token) }
  })
}

/** The user who wants to have the address that a mail goes to, their row locked, while nobody has it. */
const whoWants = async (trx: Trx, { userId, recipient }: ClaimedMail): Promise<UserFields | null> =>
  (await findUserByEmail(trx, recipient)) ? null : lockUser(trx, userId!)

/** The user whom a mail is about, their row locked, while they have the address that the mail goes to. */
async function userOf(trx: Trx, { userId, recipient }: ClaimedMail): Promise<UserFields | null> {
  const id = userId ?? (await findUserByEmail(trx, recipient))?.id
  const user = id ? await lockUser(trx, id) : null
  return user?.email === recipient ? user : null
}
