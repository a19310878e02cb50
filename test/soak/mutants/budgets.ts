import type { Mutant } from './mutant.ts'
import { BUDGETS, SCHEDULES } from './killing-tests.ts'

const END_SQL = 'sql/end_calls.sql'
const OPEN_SQL = 'sql/open_calls.sql'

/** Bugs in what a budget of a key counts. */
export const OF_BUDGETS: readonly Mutant[] = [
  {
    name: 'a refund lowers the next window of a budget',
    why: 'What comes back of a call lowers the window that the call was opened in, and no other.',
    edits: [
      {
        file: END_SQL,
        find: 'budget_window(b.period, c.created_at) AS starts_at',
        replace: 'budget_window(b.period, now()) AS starts_at',
      },
    ],
    tests: [BUDGETS, SCHEDULES],
  },
  {
    name: 'a batch ignores the budgets of the second key',
    why: 'Calls of several keys share a statement, and each is judged by the budget of its own.',
    edits: [
      {
        file: OPEN_SQL,
        find: 'b.key_id = k.id AND b.key_id = ANY (keys)',
        replace: 'b.key_id = k.id AND b.key_id = keys[1]',
      },
    ],
    tests: [BUDGETS],
  },
  {
    name: 'the calls of one batch do not count for each other',
    why: 'A budget for one call must not open two that come in one statement.',
    edits: [{ file: OPEN_SQL, find: 'used_of[key_place] + credits_of[key_place]', replace: 'used_of[key_place]' }],
    tests: [BUDGETS],
  },
  {
    name: 'a settlement above the charge is not counted',
    why: 'A settlement counts, even beyond the budget.',
    edits: [
      {
        file: END_SQL,
        find: 'sum(c.credits + c.credits_uncollected - c.credits_precharged)',
        replace: 'sum(least(0, c.credits + c.credits_uncollected - c.credits_precharged))',
      },
    ],
    tests: [BUDGETS],
  },
  {
    name: 'a call from before the budget gives back to it',
    why: 'A budget counts from when it is set: what was opened before neither used it nor lowers it.',
    edits: [
      {
        file: END_SQL,
        find: 'b.key_id = c.key_id AND c.created_at >= b.created_at',
        replace: 'b.key_id = c.key_id',
      },
    ],
    tests: [BUDGETS],
  },
]
