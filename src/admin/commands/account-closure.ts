/** account delete · account export · session list · session revoke */
import { randomBytes } from 'node:crypto'
import { listOrigins } from '../../shared/identity/import-origins.ts'
import { listInvitations } from '../../shared/identity/invitations.ts'
import { allOf } from '../../shared/identity/members.ts'
import { accountsActedFor } from '../../shared/identity/organisations.ts'
import { listMembers } from '../../shared/identity/shown-member.ts'
import { listKeys } from '../../shared/identity/shown-key.ts'
import { listCalls } from '../../shared/reports/call-list.ts'
import type { CallPosition } from '../../shared/reports/call-list.ts'
import type { PaymentId } from '../../shared/platform/ids.ts'
import { parseId, publicId } from '../../shared/platform/ids.ts'
import type { Db } from '../../shared/platform/postgres/db.ts'
import { listEntries, listGrants } from '../../shared/ledger/ledger.ts'
import { listActions } from '../../shared/action-log/actions.ts'
import { findAccount } from '../../shared/operators/accounts.ts'
import type { Obstacle } from '../../shared/operators/changes.ts'
import { deleteAccount, recordExport, revokeSessions } from '../../shared/operators/changes.ts'
import { cancelUnpaid } from '../../shared/payments/cancel.ts'
import { listPayments, presentPayment } from '../../shared/payments/orders.ts'
import { billingOf, presentCard } from '../../shared/payments/settings.ts'
import { hashPassword } from '../../shared/identity/passwords.ts'
import { listSessions } from '../../shared/identity/sessions.ts'
import type { UserRow } from '../../shared/identity/users.ts'
import { factorsOf } from '../../shared/sign-in/factors.ts'
import { listIdentities } from '../../shared/sign-in/identities.ts'
import type { Command } from '../command.ts'
import { CommandError, accountOf } from '../command.ts'
import { rowOf } from '../fields.ts'
import { findPaymentDeps } from './payments.ts'

/** Rows of one kind that are read at once. */
const PAGE = 1000

const sentence = (why: Obstacle): string => {
  if (why.is === 'deleted') return 'The account was deleted already.'
  if (why.is === 'password') return 'The password has changed meanwhile.'
  if (why.is === 'owning')
    return `Its owner owns the organisation "${why.organisation}": delete that, or have it handed over, first.`
  if (why.is === 'running')
    return `${why.calls} calls of the account have not ended yet: suspend it, and wait for them.`
  if (why.is === 'paying')
    return (
      `${why.payments} payments of the account are not decided yet: wait for them (a checkout closes after a day) ` +
      'or resolve them, or repeat with --force.'
    )
  if (why.is === 'owing')
    return `The account has a debt of ${why.debt} credits: forgive it (debt forgive), or repeat with --force.`
  return `The account has ${why.credits} credits, which would be lost: repeat with --force.`
}

/** All that is known about an account, a line each: what it is (`type`), and its fields as its owner sees them. */
async function* everythingOf(db: Db, user: UserRow): AsyncGenerator<object> {
  const id = user.account_id
  yield { type: 'account', ...(await findAccount(db, id)), debt: user.debt }
  if (user.kind === 'organisation') {
    for (const member of await listMembers(db, allOf(id))) yield { type: 'member', ...member }
    for (const invitation of await listInvitations(db, id)) yield { type: 'invitation', ...invitation }
  }
  for (const key of await listKeys(db, allOf(id))) yield { type: 'key', ...key }
  for (const origin of await listOrigins(db, id)) yield { type: 'import', ...origin }
  if (user.kind === 'personal') {
    const others = (await accountsActedFor(db, user.id)).filter(({ accountId }) => accountId !== id)
    for (const { accountId: _id, ...membership } of others) yield { type: 'membership', ...membership }
    yield { type: 'secondFactor', ...(await factorsOf(db, user.id)) }
    for (const identity of await listIdentities(db, user.id, [])) yield { type: 'identity', ...identity }
    for (const session of await listSessions(db, user.id, null)) yield { type: 'session', ...session }
  }
  const { settings, card } = await billingOf(db, id, null)
  yield { type: 'billing', ...settings, card: presentCard(card) }
  for (let before: PaymentId | null = null; ;) {
    const { rows, next } = await listPayments(db, id, PAGE, before)
    for (const row of rows) yield { type: 'payment', ...presentPayment(row) }
    if (next === null) break
    before = next
  }
  for (const grant of await listGrants(db, id)) yield { type: 'grant', ...grant }
  for (let before: number | null = null; ;) {
    const { entries, next } = await listEntries(db, id, PAGE, before)
    for (const entry of entries) yield { type: 'ledgerEntry', ...entry }
    if (next === null) break
    before = next
  }
  for (let after: CallPosition | null = null; ;) {
    const { calls, next } = await listCalls(db, allOf(id), {}, PAGE, after)
    for (const call of calls) yield { type: 'call', ...call }
    if (next === null) break
    after = next
  }
  for (const action of await listActions(db, { accountId: id }, PAGE)) yield { type: 'operatorAction', ...action }
}

/** Exporting and deleting accounts. */
export const accountClosureCommands: Command[] = [
  {
    usage: 'account delete <email> [--force]',
    summary:
      'Delete an account with its address, name, sessions, keys, card, mails, answers and media; of an organisation, ' +
      'whose id is given, its members stay as people. Its ledger, ' +
      'payments and call records stay, without a name. --force allows credits, a debt and undecided payments.',
    flags: ['force'],
    run: async (db, [email], { force }) => {
      const { id: userId, account_id: accountId } = await accountOf(db, email)
      const passwordHash = await hashPassword(randomBytes(32).toString('base64url'))
      const isForced = force !== undefined
      const whom = { userId, accountId, force: isForced, passwordHash }
      let why = await deleteAccount(db, null, whom)
      if (why?.is === 'paying') {
        const payments = findPaymentDeps(db)
        if (payments) await cancelUnpaid(payments, accountId)
        why = await deleteAccount(db, null, { ...whom, evenPaying: isForced })
      }
      if (why) throw new CommandError(sentence(why))
      const id = publicId('account', accountId)
      return {
        json: { id, deleted: true },
        text: `Deleted. Its ledger, payments and call records stay under ${id}, without a name.`,
      }
    },
  },
  {
    usage: 'account export <email>',
    summary: 'Print everything that is stored about an account, as lines of JSON.',
    run: async (db, [email]) => {
      const user = await accountOf(db, email)
      await recordExport(db, null, user.account_id)
      return { json: {}, text: '', lines: everythingOf(db, user) }
    },
  },
  {
    usage: 'session list <email>',
    summary: 'List the sessions of an account.',
    run: async (db, [email]) => {
      const found = await listSessions(db, (await accountOf(db, email)).id, null)
      const sessions = found.map(({ current: _current, ...session }) => session)
      const lines = sessions.map((one) => rowOf(one.id, one.createdAt, `seen ${one.lastSeenAt}`, one.ip, one.userAgent))
      return { json: { sessions }, text: lines.length === 0 ? 'No sessions.' : lines.join('\n') }
    },
  },
  {
    usage: 'session revoke <email> <id>|all',
    summary: 'End one session of an account, or all of them.',
    run: async (db, [email, which = '']) => {
      const user = await accountOf(db, email)
      const session = which === 'all' ? which : parseId('session', which)
      if (!session || !(await revokeSessions(db, null, user, session))) {
        throw new CommandError(`There is no session ${which} of ${user.email}.`)
      }
      return { json: { revoked: which }, text: which === 'all' ? 'All sessions have ended.' : 'The session has ended.' }
    },
  },
]
