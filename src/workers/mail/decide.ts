/**
 * Decides whether a mail is due, and writes it. Decided here and not when the mail is requested: the requester of a
 * reset must not notice whether the address has an account, or has reached its limit of mails.
 */
import { noticeOf } from '../../shared/identity/budgets.ts'
import { invitationOf } from '../../shared/identity/invitations.ts'
import type { Mailboxes } from '../../shared/mail/mailboxes.ts'
import type { LinkKind, TokenMint } from '../../shared/identity/one-time-tokens.ts'
import { isIssued, issueToken } from '../../shared/identity/one-time-tokens.ts'
import { accessTo } from '../../shared/identity/password-changes.ts'
import type { UserFields } from '../../shared/identity/users.ts'
import { findUserByEmail, isNobodys, lockUser } from '../../shared/identity/users.ts'
import type { Db, Trx } from '../../shared/platform/postgres/db.ts'
import type { CountedKind } from '../../shared/mail/allowance.ts'
import { countMail, lockMailbox, uncountMail } from '../../shared/mail/allowance.ts'
import type { MailContent } from '../../shared/mail/render.ts'
import { templatesIn } from '../../shared/mail/templates.ts'
import type { ClaimedMail } from '../../shared/mail/mails.ts'
import { isExpected } from '../../shared/sign-in/pending.ts'

/** What becomes of a mail now. `skip`: why it is not sent, `wait`: why it is sent in `seconds`; both for operators. */
export type Decision = { content: MailContent } | { skip: string } | { wait: string; seconds: number }

/** `previous` makes the tokens of a secret that was replaced: mails that were tried with one keep it. */
type Terms = { mint: TokenMint; previous?: TokenMint; mailboxes: Mailboxes; baseUrl: string; hourlyLimit: number }

/** A mail that is due: its content, or how its link is activated. */
type Due = { content: MailContent } | { skip: string } | { issue: () => Promise<Decision> }

/**
 * Decides, counts a mail that is to be sent, and activates its link. Every kind is counted here, by its mailbox; test
 * mails alone are sent without the outbox.
 */
export async function decide(db: Db, mail: ClaimedMail, terms: Terms): Promise<Decision> {
  if (isNobodys(mail.recipient)) return { skip: 'nobody has this address' }
  const mailbox = terms.mailboxes(mail.recipient)
  return db.transaction(async (trx) => {
    await lockMailbox(trx, mailbox)
    const due = await dueOf(trx, mail, terms)
    if ('skip' in due) return due
    const kind = countedAs(mail)
    const seconds = await countMail(trx, { mailId: mail.id, mailbox, kind, hourlyLimit: terms.hourlyLimit })
    if (seconds !== null) return beyondLimit(mail, seconds)
    return 'issue' in due ? due.issue() : due
  })
}

function countedAs({ kind, details }: ClaimedMail): CountedKind {
  if (kind === 'sign_in_changed') return `${kind}:${String(details['change'])}`
  return kind === 'address_notice' && details['step'] === 'changed' ? 'address_changed' : kind
}

/** A receipt comes late, other mails not at all: their news is old by then, or shown in the console. */
function beyondLimit({ kind }: ClaimedMail, seconds: number): Decision {
  const reason = `the mailbox had its ${kind} mails for this hour`
  return kind === 'receipt' ? { wait: reason, seconds } : { skip: reason }
}

async function dueOf(trx: Trx, mail: ClaimedMail, terms: Terms): Promise<Due> {
  const { kind, details } = mail
  const texts = templatesIn(mail.language)
  switch (kind) {
    case 'budget':
      return dueOfBudget(trx, mail, terms.baseUrl)
    case 'invitation':
      return dueOfInvitation(trx, mail, terms)
    case 'sign_in':
      return dueOfSignIn(trx, mail, terms)
    case 'verification':
    case 'reset':
    case 'address':
    case 'access':
      return dueOfLink(trx, { ...mail, kind }, terms)
    case 'key_rotated':
      return { content: texts.keyMail(terms.baseUrl, details) }
    case 'webhook_off':
      return { content: texts.webhookMail(terms.baseUrl, details) }
    case 'sign_in_changed':
      return { content: texts.signInMail(terms.baseUrl, details) }
    case 'address_notice':
      return { content: texts.addressNotice(terms.baseUrl, details) }
    case 'receipt':
    case 'low_balance':
    case 'top_up_failed':
    case 'top_up_off':
      return { content: texts.moneyMail(terms.baseUrl, kind, details) }
  }
}

async function dueOfBudget(trx: Trx, mail: ClaimedMail, baseUrl: string): Promise<Due> {
  if (!(await userOf(trx, mail))) return { skip: 'the account has another address' }
  const notice = await noticeOf(trx, mail.details, mail.userId)
  return notice
    ? { content: templatesIn(mail.language).budgetMail(baseUrl, notice) }
    : { skip: 'the key was revoked, or there is another budget since' }
}

/** The token was made with the invitation: perhaps under the secret before. */
async function dueOfInvitation(trx: Trx, { id, recipient, language }: ClaimedMail, terms: Terms): Promise<Due> {
  const { mint, previous, baseUrl } = terms
  const notice = await invitationOf(trx, id)
  const tokens = [mint, previous].flatMap((make) => (make ? [make('invitation', id)] : []))
  const token = notice && tokens.find((one) => notice.isOfToken(one))
  return token
    ? { content: templatesIn(language).invitationMail(baseUrl, recipient, token, notice) }
    : { skip: 'the invitation was accepted or revoked, or has expired' }
}

/** The token was made with the request: perhaps under the secret before. */
async function dueOfSignIn(trx: Trx, { id, recipient, language }: ClaimedMail, terms: Terms): Promise<Due> {
  const { mint, previous, baseUrl } = terms
  for (const make of [mint, previous]) {
    const token = make?.('sign_in', id)
    if (token !== undefined && (await isExpected(trx, id, token)))
      return { content: templatesIn(language).signInLinkMail(baseUrl, recipient, token) }
  }
  return { skip: 'the sign-in is over, or has another mail' }
}

type LinkMail = ClaimedMail & { kind: LinkKind }

/** Why no user gets a link. */
const SKIPPED = {
  verification: 'no account has this address',
  reset: 'no account has this address',
  address: 'an account has this address already',
  access: 'no account has this address',
} as const satisfies Record<LinkKind, string>

async function dueOfLink(trx: Trx, mail: LinkMail, terms: Terms): Promise<Due> {
  const user = await (mail.kind === 'address' ? whoWants(trx, mail) : userOf(trx, mail))
  if (!user) return { skip: SKIPPED[mail.kind] }
  if (mail.kind === 'verification' && user.email_verified_at) return { skip: 'the address is verified already' }
  return { issue: () => issue(trx, mail, user, terms) }
}

async function issue(
  trx: Trx,
  mail: LinkMail,
  user: UserFields,
  { mint, previous, baseUrl }: Terms,
): Promise<Decision> {
  const { id, kind, recipient, language } = mail
  const earlier = previous?.(kind, id)
  const isOld = earlier !== undefined && (await isIssued(trx, id, earlier))
  const token = isOld ? earlier : mint(kind, id)
  if (await issueToken(trx, { mailId: id, userId: user.id, purpose: kind, token }))
    return { content: await WRITERS[kind](trx, user, { texts: templatesIn(language), baseUrl, recipient, token }) }
  await uncountMail(trx, id)
  return { skip: 'the link was used, or the password changed since' }
}

type Address = { texts: ReturnType<typeof templatesIn>; baseUrl: string; recipient: string; token: string }
type Writer = (trx: Trx, user: UserFields, address: Address) => Promise<MailContent>

const WRITERS: Record<LinkKind, Writer> = {
  verification: async (_trx, _user, { texts, baseUrl, recipient, token }) =>
    texts.verificationMail(baseUrl, recipient, token),
  reset: async (_trx, _user, { texts, baseUrl, recipient, token }) => texts.resetMail(baseUrl, recipient, token),
  address: async (_trx, _user, { texts, baseUrl, recipient, token }) => texts.addressMail(baseUrl, recipient, token),
  access: async (trx, { id }, { texts, baseUrl, recipient, token }) =>
    texts.accessMail(baseUrl, recipient, token, await accessTo(trx, id)),
}

/** The user who wants the address that a mail goes to, their row locked, while no user has it. */
const whoWants = async (trx: Trx, { userId, recipient }: ClaimedMail): Promise<UserFields | null> =>
  (await findUserByEmail(trx, recipient)) ? null : lockUser(trx, userId!)

/** The user of a mail, their row locked, while they have the address that the mail goes to. */
async function userOf(trx: Trx, { userId, recipient }: ClaimedMail): Promise<UserFields | null> {
  const id = userId ?? (await findUserByEmail(trx, recipient))?.id
  const user = id ? await lockUser(trx, id) : null
  return user?.email === recipient ? user : null
}
