import type { Mutant } from './mutant.ts'
import { BATCHES, BUDGETS, CREDIT_LIMIT, DEMANDED_TOP_UPS, SCHEDULES, VERBS } from './killing-tests.ts'

const OPEN_SQL = 'sql/open_calls.sql'
const WATCH_SQL = 'sql/watch_balance.sql'
const TOP_UPS_FILE = 'src/shared/payments/top-ups.ts'

/** Bugs in what running calls hold, and in what is decided by it. */
export const OF_HOLDS: readonly Mutant[] = [
  {
    name: 'a charge is not held',
    why: 'What running calls may give back is part of the funds of their account.',
    edits: [{ file: 'sql/open_calls.sql', find: 'held = acc.held + s.amount,', replace: 'held = acc.held,' }],
    tests: [VERBS, SCHEDULES],
  },
  {
    name: 'an ended call goes on holding its charge',
    why: 'A call that has ended holds nothing.',
    edits: [{ file: 'sql/end_calls.sql', find: 'held = acc.held - s.held', replace: 'held = acc.held' }],
    tests: [VERBS, SCHEDULES],
  },
  {
    name: 'a hold counts as a fallen balance',
    why: 'The card of an account must not be charged for credits that a call gives back.',
    edits: [
      { file: WATCH_SQL, find: 'funds bigint := NEW.credits + NEW.held', replace: 'funds bigint := NEW.credits' },
      { file: WATCH_SQL, find: 'funds < OLD.credits + OLD.held', replace: 'funds < OLD.credits' },
      {
        file: WATCH_SQL,
        find: '(new.credits::bigint + new.held::bigint) <> (old.credits::bigint + old.held::bigint)',
        replace: 'new.credits::bigint <> old.credits::bigint',
      },
    ],
    tests: [DEMANDED_TOP_UPS],
  },
  {
    name: 'a top-up is charged without another look at the funds',
    why: 'Credits may arrive between the demand and the charge of the card.',
    edits: [{ file: TOP_UPS_FILE, find: '  return isLow\n', replace: '  return true\n' }],
    tests: [DEMANDED_TOP_UPS],
  },
  {
    name: 'a call that waits for held credits demands a top-up',
    why: 'Only a call that the funds do not pay demands one.',
    edits: [{ file: TOP_UPS_FILE, find: "db.raw('? - held', [needed])", replace: "db.raw('?', [needed])" }],
    tests: [DEMANDED_TOP_UPS],
  },
  {
    name: 'a demand is forgotten when another call ends',
    why: 'Funds above the threshold do not pay the call that was refused.',
    edits: [
      {
        file: WATCH_SQL,
        find: 'funds >= greatest(NEW.top_up_below, NEW.top_up_for)',
        replace: 'funds >= NEW.top_up_below',
      },
    ],
    tests: [DEMANDED_TOP_UPS],
  },
  {
    name: 'a call that only has to wait is refused for good',
    why: 'Agents give up at a refusal for good, although the credits come back a moment later.',
    edits: [{ file: OPEN_SQL, find: 'r.amount > balance + held', replace: 'r.amount > balance' }],
    tests: [BATCHES, VERBS],
  },
  {
    name: 'two lowered calls that come together leave nothing',
    why: 'The half that a lowered limit leaves is judged by the statement that charges.',
    edits: [{ file: OPEN_SQL, find: 'r.amount + coalesce(r.leaves, 0)', replace: 'r.amount' }],
    tests: [BUDGETS],
  },
  {
    name: 'a lowered limit takes all that is free',
    why: 'Other calls of the account need credits too.',
    edits: [{ file: 'src/api/v1/calls/call-order.ts', find: 'Math.floor(free / 2)', replace: 'free' }],
    tests: [CREDIT_LIMIT],
  },
]
