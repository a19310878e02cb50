/** What an import did, or would do: counts, exact sums, and every exception with its reason. */
import type { ImportSource } from '../../identity/import-origins.ts'
import { grantedOf } from '../../identity/import-origins.ts'
import type { Db } from '../../platform/postgres/db.ts'
import { importPlan } from './apply.ts'
import type { Decision } from './decide.ts'
import type { ImportPlan, Listed } from './plan.ts'

/** `found`: there. `known`: imported before. `turnedOff`: suspended or revoked, since it was turned off there. */
export type Counted = { found: number; new: number; known: number; turnedOff: number }

/**
 * Sums of credits are exact decimal numbers, as texts. `theirs`: all balances in their unit. `before`, `after`: the
 * credits of all grants that this source was imported with; `granted`: those of this import.
 */
export type ImportReport = {
  applied: boolean
  source: string
  gateway: string
  users: Counted & { withoutLogin: number }
  organisations: Counted
  /** Users and organisations. */
  accounts: Counted
  members: number
  keys: Counted
  /** Budgets of new keys and members. */
  budgets: number
  /** New accounts, by group. */
  groups: Record<string, number>
  credits: { theirs: { amount: string; unit: string }; before: string; granted: string; after: string }
  exceptions: Listed[]
}

/** Imports a plan, or only reports what an import would do. */
export async function runImport(db: Db, source: ImportSource, plan: ImportPlan, apply: boolean): Promise<ImportReport> {
  const before = await grantedOf(db, source.name)
  const tally = newTally()
  const listed = await importPlan(db, source, plan, { apply, done: tally.add })
  const { user, organisation, keys, granted, groups, members, budgets } = tally
  return {
    applied: apply,
    source: source.name,
    gateway: source.gateway,
    users: { ...counted(plan.users.length, user), withoutLogin: tally.withoutLogin },
    organisations: counted(plan.organisations.length, organisation),
    accounts: counted(plan.users.length + plan.organisations.length, user, organisation),
    members,
    keys: counted(plan.keys.length, keys),
    budgets,
    groups: Object.fromEntries([...groups].toSorted(([one], [other]) => one.localeCompare(other))),
    credits: {
      theirs: plan.theirSum,
      before: String(before),
      granted: String(granted),
      after: String(apply ? await grantedOf(db, source.name) : before + granted),
    },
    exceptions: [...listed, ...tally.listed],
  }
}

type Tallied = Omit<Counted, 'found'>

const counted = (found: number, ...tallied: Tallied[]): Counted => {
  const sum = (name: keyof Tallied): number => tallied.reduce((total, one) => total + one[name], 0)
  return { found, new: sum('new'), known: sum('known'), turnedOff: sum('turnedOff') }
}

function newTally() {
  const none = (): Tallied => ({ new: 0, known: 0, turnedOff: 0 })
  const tally = {
    user: none(),
    organisation: none(),
    keys: none(),
    withoutLogin: 0,
    members: 0,
    budgets: 0,
    granted: 0n,
    groups: new Map<string, number>(),
    listed: [] as Listed[],
    add: ({ change, listed }: Decision): void => {
      tally.listed.push(...listed)
      if (!change) return
      const { account, existing, keys, members } = change
      const of = tally[account.kind]
      of[existing ? 'known' : 'new']++
      if (change.suspends) of.turnedOff++
      if (!existing && account.kind === 'user' && change.email === null) tally.withoutLogin++
      if (!existing && account.group !== null) {
        tally.groups.set(account.group, (tally.groups.get(account.group) ?? 0) + 1)
      }
      tally.keys.new += keys.length
      tally.keys.known += change.knownKeys
      tally.keys.turnedOff += change.revoked.length + keys.filter(({ isOff }) => isOff).length
      tally.members += members.length
      tally.budgets += [...keys, ...members].filter(({ budget }) => budget !== null).length
      tally.granted += BigInt(change.grant)
    },
  }
  return tally
}

/** A report as operators read it. */
export function reportText(report: ImportReport): string {
  const { credits, exceptions, groups } = report
  const line = (name: string, { found, new: made, known, turnedOff }: Counted, more = ''): string =>
    `${name}: ${found} there, ${made} new, ${known} imported before, ${turnedOff} turned off${more}`
  const inGroups = Object.entries(groups).map(([name, count]) => `${name} ${count}`)
  return [
    report.applied
      ? `Imported from ${report.source} (${report.gateway}).`
      : `Nothing was written: this is what --apply would import from ${report.source} (${report.gateway}).`,
    line('Users', report.users, `, ${report.users.withoutLogin} without a login`),
    line('Organisations', report.organisations),
    `Members: ${report.members} new`,
    line('Keys', report.keys),
    `Budgets: ${report.budgets} new`,
    `Groups: ${inGroups.length === 0 ? 'none' : inGroups.join(', ')}`,
    `Balances there: ${credits.theirs.amount} ${credits.theirs.unit}`,
    `Credits imported before: ${credits.before}, now: ${credits.granted}, together: ${credits.after}`,
    ...exceptionLines(exceptions, 'the import'),
  ].join('\n')
}

/** What is not imported as it is, a line each. */
export const exceptionLines = (exceptions: readonly Listed[], of: string): string[] => [
  `Exceptions of ${of}: ${exceptions.length === 0 ? 'none' : exceptions.length}`,
  ...exceptions.map(({ what, theirId, reason }) => `  ${what} ${theirId}: ${reason}`),
]
