import { DEDUCTIONS } from './killing-tests.ts'
import type { Mutant } from './mutant.ts'

const SQL = 'sql/deduct_credits.sql'

/** Bugs in what operators take back. */
export const OF_DEDUCTIONS: readonly Mutant[] = [
  {
    name: 'a deduction that is asked for again takes again',
    why: 'An operator who presses twice, or whose answer was lost, means one deduction.',
    edits: [
      {
        file: SQL,
        find: '(d.id = the_deduction OR d.idempotency_key = request_key)',
        replace: 'd.id = the_deduction',
      },
      {
        file: 'migrations/006_ledger.ts',
        find: '      CONSTRAINT deductions_once UNIQUE (account_id, idempotency_key),\n',
        replace: '',
      },
    ],
    tests: [DEDUCTIONS],
  },
  {
    name: 'a deduction becomes debt unasked',
    why: 'Debt refuses every call of the account: it is an operator who decides that.',
    edits: [{ file: SQL, find: 'IF left_owing > 0 AND NOT may_owe THEN', replace: 'IF false THEN' }],
    tests: [DEDUCTIONS],
  },
  {
    name: 'a deduction looks before it locks',
    why: 'Without the lock on the account a call and a deduction spend the same credits.',
    edits: [{ file: SQL, find: 'WHERE a.id = the_account FOR NO KEY UPDATE', replace: 'WHERE a.id = the_account' }],
    tests: [DEDUCTIONS],
  },
  {
    name: 'the debt of a deduction is forgotten',
    why: 'What could not be taken is owed: the next credits repay it.',
    edits: [{ file: SQL, find: 'debt = a.debt + left_owing', replace: 'debt = a.debt' }],
    tests: [DEDUCTIONS],
  },
]
