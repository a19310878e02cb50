/**
 * The sign-up credits: once an account, and once a mailbox, even if it had other accounts before. An imported account
 * gets none: it is no new one.
 */
import type { Config } from '../platform/config/config.ts'
import { newId } from '../platform/ids.ts'
import type { Trx } from '../platform/postgres/db.ts'
import { grant, hasGrantOf } from '../ledger/ledger.ts'
import type { Mailboxes } from '../mail/mailboxes.ts'
import { claimGift, createMailboxes } from '../mail/mailboxes.ts'
import { importedFrom } from './import-origins.ts'
import type { UserRow } from './users.ts'

/** What is granted with a registration or a proof of an address, perhaps nothing. */
export type SignupTerms = { mailboxes: Mailboxes; signupCredits: number }

/** What is configured to be granted `at` this step. */
export const signupTerms = (config: Config, at: Config['SIGNUP_CREDITS_AT']): SignupTerms => ({
  mailboxes: createMailboxes(config),
  signupCredits: config.SIGNUP_CREDITS_AT === at ? config.SIGNUP_CREDITS : 0,
})

/** Gives a user the sign-up credits, if any are due to their account and their mailbox. @returns the user since. */
export async function giveSignupCredits(
  trx: Trx,
  user: UserRow,
  { mailboxes, signupCredits }: SignupTerms,
): Promise<UserRow> {
  const accountId = user.account_id
  if (signupCredits === 0 || (await hasGrantOf(trx, accountId, 'signup'))) return user
  if (await importedFrom(trx, accountId)) return user
  const id = newId('grant')
  if (!(await claimGift(trx, mailboxes(user.email), id, null))) return user
  return { ...user, credits: await grant(trx, { id, accountId, origin: 'signup', amount: signupCredits }) }
}
