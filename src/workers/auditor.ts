/**
 * The auditor: checks the ledger of active accounts now and then, and raises an alarm if an invariant is broken. It
 * changes nothing; people must find out what a breach means (`npm run admin -- audit` checks all accounts).
 */
import { auditActive } from '../shared/ledger/audit.ts'
import type { WorkerDeps } from './deps.ts'

/** How often the ledger is audited, in ms. */
export const AUDIT_EVERY_MS = 600_000

/** Ledger entries that one audit reads at most: about a second, for which the reconciler's other work waits. */
const MAX_ENTRIES = 50_000

/** Runs an audit if the last one, by any process, is long enough ago. `now` in Unix ms. */
export async function auditWhenDue(
  { db, log, audits }: Pick<WorkerDeps, 'db' | 'log' | 'audits'>,
  now = Date.now(),
): Promise<void> {
  const last = await audits.last()
  if (last && now - last.at < AUDIT_EVERY_MS) return
  const { checked, breaches } = await auditActive(db, MAX_ENTRIES)
  for (const invariant of new Set(breaches.map((breach) => breach.invariant))) {
    const rows = breaches.filter((breach) => breach.invariant === invariant).map(({ row }) => row)
    log.error({ invariant, rows }, 'the books do not balance')
  }
  await audits.keep({ at: now, breaches: breaches.length, accounts: checked.users ?? 0 })
}
