/** credits grant · call show · audit */
import { newId, parseId, publicId } from '../../shared/ids.ts'
import { findRecord } from '../../shared/calls/records.ts'
import { audit } from '../../shared/ledger/audit.ts'
import { MAX_GRANT_CREDITS, ORIGINS, entriesOfCall } from '../../shared/ledger/ledger.ts'
import type { Origin } from '../../shared/ledger/ledger.ts'
import { grantCredits } from '../../shared/operators/changes.ts'
import type { Command } from '../command.ts'
import { CommandError, accountOf } from '../command.ts'

const GRANTABLE = ORIGINS.filter((origin) => origin !== 'signup')

export const moneyCommands: Command[] = [
  {
    usage: 'credits grant <email> <amount> [--origin purchase|bonus|adjustment] [--expires <ISO>] [--note …]',
    summary: 'Give credits. Without --origin they count as purchased; without --expires they never expire.',
    options: ['origin', 'expires', 'note'],
    run: async (db, [email, amountText], options) => {
      const amount = amountOf(amountText)
      const origin = originOf(options.origin ?? 'purchase')
      const expiresAt = options.expires === undefined ? null : futureDate(options.expires)
      const user = await accountOf(db, email)
      const id = newId('grant')
      const credits = await grantCredits(db, null, {
        id,
        accountId: user.account_id,
        origin,
        amount,
        expiresAt,
        note: options.note ?? null,
      })
      return {
        json: { grantId: publicId('grant', id), credits },
        text: `Granted ${amount} credits; the balance is ${credits}.`,
      }
    },
  },
  {
    usage: 'call show <id>',
    summary: 'Show a call and its ledger entries.',
    run: async (db, [text = '']) => {
      const id = parseId('call', text)
      // A record may have been swept (CALL_RETENTION_DAYS); its movements are kept for good.
      const call = id && (await findRecord(db, id))
      const ledger = id ? await entriesOfCall(db, id) : []
      if (!call && ledger.length === 0) throw new CommandError(`There is no call ${text}.`)
      return { json: { call, ledger }, text: JSON.stringify({ call, ledger }, null, 2) }
    },
  },
  {
    usage: 'audit',
    summary: 'Check the ledger: every invariant must hold. Exits with 1 on a breach.',
    run: async (db) => {
      const { checked, breaches } = await audit(db)
      const counts = Object.entries(checked)
        .map(([table, count]) => `${count} ${table}`)
        .join(', ')
      const lines = breaches.map(({ invariant, row }) => `BREACH: ${invariant}: ${JSON.stringify(row)}`)
      return {
        json: { checked, breaches },
        text: [`Checked ${counts}: ${breaches.length} breaches.`, ...lines].join('\n'),
        failed: breaches.length > 0,
      }
    },
  },
]

/** A number of credits. @throws CommandError where it is none. */
export function amountOf(text: string | undefined): number {
  const amount = /^\d{1,13}$/.test(text ?? '') ? Number(text) : 0
  if (amount < 1 || amount > MAX_GRANT_CREDITS) {
    throw new CommandError(`The amount must be a whole number of credits from 1 to ${MAX_GRANT_CREDITS}.`)
  }
  return amount
}

function originOf(text: string): Origin {
  const origin = GRANTABLE.find((one) => one === text)
  if (!origin) throw new CommandError(`--origin must be one of ${GRANTABLE.join(', ')}.`)
  return origin
}

/** A moment in the future. @throws CommandError that names the option. */
export function futureDate(text: string, option = '--expires'): Date {
  const date = new Date(text)
  if (Number.isNaN(date.getTime()) || !/^\d{4}-\d\d-\d\d/.test(text))
    throw new CommandError(`${option} must be an ISO 8601 time, such as 2030-01-31T00:00:00Z.`)
  if (date.getTime() <= Date.now()) throw new CommandError(`${option} must be in the future.`)
  return date
}
