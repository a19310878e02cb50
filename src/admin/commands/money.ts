/** credits grant · credits deduct · call show · audit */
import { newId, parseId, publicId } from '../../shared/platform/ids.ts'
import { findRecord } from '../../shared/reports/call-records.ts'
import { audit } from '../../shared/ledger/audit.ts'
import type { Deducted } from '../../shared/ledger/deductions.ts'
import { GRANTABLE, entriesOfCall } from '../../shared/ledger/ledger.ts'
import type { Origin } from '../../shared/ledger/ledger.ts'
import { deductCredits, grantCredits } from '../../shared/operators/changes.ts'
import type { Command, Report } from '../command.ts'
import { label } from '../../shared/platform/text-fields.ts'
import { CommandError, accountOf } from '../command.ts'
import { creditsOf, futureOf, noteOf, textOf } from '../fields.ts'

/** The longest idempotency key of a deduction, in characters. */
const MAX_KEY = 255

/** Granting and deducting credits, debts, and the audit. */
export const moneyCommands: Command[] = [
  {
    usage: 'credits grant <email> <amount> [--origin purchase|bonus|adjustment] [--expires <ISO>] [--note …]',
    summary: 'Grant credits. Without --origin they count as purchased; without --expires they never expire.',
    options: ['origin', 'expires', 'note'],
    run: async (db, [email, amountText = ''], options) => {
      const amount = creditsOf('The amount', amountText)
      const origin = originOf(options.origin ?? 'purchase')
      const expiresAt = options.expires === undefined ? null : futureOf('--expires', options.expires)
      const user = await accountOf(db, email)
      const id = newId('grant')
      const credits = await grantCredits(db, null, {
        id,
        accountId: user.account_id,
        origin,
        amount,
        expiresAt,
        note: noteOf(options),
      })
      return {
        json: { grantId: publicId('grant', id), credits },
        text: `Granted ${amount} credits; the balance is ${credits}.`,
      }
    },
  },
  {
    usage: 'credits deduct <email> <amount> --note <text> [--debt] [--key <name>]',
    summary:
      'Take credits back. The customer sees the note. With --debt, what has already been spent becomes debt. ' +
      'The same --key takes them once, however often the command runs.',
    options: ['note', 'key'],
    flags: ['debt'],
    run: async (db, [email, amountText = ''], options) => {
      const amount = creditsOf('The amount', amountText)
      const reason = noteOf(options)
      if (reason === null) throw new CommandError('Say why with --note: the customer sees it.')
      const key = options.key === undefined ? null : textOf('--key', label(MAX_KEY), options.key)
      const { account_id: accountId } = await accountOf(db, email)
      const wanted = { id: newId('deduction'), accountId, amount, mayOwe: options.debt !== undefined, reason, key }
      return deducted((await deductCredits(db, null, wanted))!)
    },
  },
  {
    usage: 'call show <id>',
    summary: 'Show a call and its ledger entries.',
    run: async (db, [text = '']) => {
      const id = parseId('call', text)
      // A record may have been swept (CALL_RETENTION_DAYS); its movements stay forever.
      const call = id && (await findRecord(db, id))
      const ledger = id ? await entriesOfCall(db, id) : []
      if (!call && ledger.length === 0) throw new CommandError(`There is no call ${text}.`)
      return { json: { call, ledger }, text: JSON.stringify({ call, ledger }, null, 2) }
    },
  },
  {
    usage: 'audit',
    summary: 'Check every rule of the money. Exits with 1 if one is broken.',
    run: async (db) => {
      const { checked, breaches } = await audit(db)
      const counts = Object.entries(checked)
        .map(([table, count]) => `${count} ${table}`)
        .join(', ')
      const lines = breaches.map(({ invariant, row }) => `BREACH: ${invariant}: ${JSON.stringify(row)}`)
      return {
        json: { checked, breaches },
        text: [
          `Checked ${counts}: ${breaches.length} ${breaches.length === 1 ? 'breach' : 'breaches'}.`,
          ...lines,
        ].join('\n'),
        ...(breaches.length > 0 && {
          complaint: `The books are wrong: ${breaches.length} ${breaches.length === 1 ? 'breach' : 'breaches'}.`,
        }),
      }
    },
  },
]

/** What a deduction came to. @throws CommandError if nothing was taken. */
function deducted(done: Deducted): Report {
  if (done.is === 'conflict') throw new CommandError('This --key was used for another deduction.')
  if (done.is === 'too_little') {
    throw new CommandError(`Only ${done.spendable} credits can be spent. Deduct at most that, or add --debt.`)
  }
  const { taken, owed, balance: credits } = done
  const before = done.is === 'repeated' ? 'This was done before: deducted' : 'Deducted'
  const rest = owed > 0 ? `, and ${owed} became debt` : ''
  return {
    json: { deductionId: publicId('deduction', done.id), taken, owed, credits },
    text: `${before} ${taken} credits${rest}; the balance is ${credits}.`,
  }
}

function originOf(text: string): Origin {
  const origin = GRANTABLE.find((one) => one === text)
  if (!origin) throw new CommandError(`--origin must be one of ${GRANTABLE.join(', ')}.`)
  return origin
}
