import type { Edit } from '../../support/tree-copy.ts'
import type { Mutant } from './mutant.ts'
import { BATCHES, DEBTS, EXPIRY, SCHEDULES, VERBS } from './killing-tests.ts'

const END_SQL = 'sql/end_calls.sql'

const STATUS_GUARD: Edit = {
  file: END_SQL,
  find: "WHERE c.status IN ('queued', 'running')",
  replace: 'WHERE true',
}

/** Bugs in how a call ends: settlements, refunds, debts. */
export const ENDING: readonly Mutant[] = [
  {
    name: 'a call can be ended twice',
    why: 'Without the status guard of end_calls only constraints stand between a late outcome and a second refund.',
    edits: [STATUS_GUARD],
    tests: [SCHEDULES],
  },
  {
    name: 'a call can be ended twice, and no index objects',
    why: 'The guard and the wall behind it gone together.',
    edits: [
      STATUS_GUARD,
      {
        file: 'migrations/006_ledger.ts',
        find: 'CREATE UNIQUE INDEX ledger_entries_once_per_call',
        replace: 'CREATE INDEX ledger_entries_once_per_call',
      },
    ],
    tests: [SCHEDULES],
  },
  {
    name: 'a call can be ended twice, and no trigger objects',
    why: 'The guard and the other wall behind it.',
    edits: [
      STATUS_GUARD,
      {
        file: 'sql/check_ledger.sql',
        find: 'CREATE TRIGGER ledger_entries_match_calls AFTER INSERT',
        replace: 'CREATE TRIGGER ledger_entries_match_calls AFTER DELETE',
      },
      {
        file: 'sql/check_ledger.sql',
        find: 'REFERENCING NEW TABLE AS inserted',
        replace: 'REFERENCING OLD TABLE AS inserted',
      },
    ],
    tests: [SCHEDULES],
  },
  {
    name: 'a frozen worker refunds what another works on',
    why: 'The attempt is the fence of a refund.',
    edits: [{ file: END_SQL, find: 'AND (o.attempt IS NULL OR o.attempt >= c.attempts)', replace: '' }],
    tests: [VERBS, SCHEDULES],
  },
  {
    name: 'a waiter refunds before the deadline',
    why: 'Looking must not end what runs.',
    edits: [{ file: END_SQL, find: 'AND (o.overdue IS NOT TRUE OR c.deadline_at < now())', replace: '' }],
    tests: [VERBS, SCHEDULES],
  },
  {
    name: 'credits go back to the wrong grant',
    why: 'A refund gives back to the very grants it came from.',
    edits: [
      {
        file: END_SQL,
        find: 'array_agg(e.grant_id ORDER BY e.seq DESC)',
        replace: 'array_agg((SELECT g.id FROM grants g WHERE g.account_id = e.account_id ORDER BY g.id DESC LIMIT 1))',
      },
    ],
    tests: [SCHEDULES],
  },
  {
    name: 'an ended call keeps no result',
    why: 'The result is written with the settlement, or it can be lost between the two.',
    edits: [
      {
        file: END_SQL,
        find: 'WHERE d.deleted_at IS NULL',
        replace: 'WHERE false',
      },
    ],
    tests: [SCHEDULES],
  },
  {
    name: 'debt is forgotten by a refund',
    why: 'Credits that come back are credits that the account gets.',
    edits: [{ file: END_SQL, find: 'IF owing IS NOT NULL THEN PERFORM', replace: 'IF false THEN PERFORM' }],
    tests: [DEBTS, SCHEDULES],
  },
  {
    name: "what a settlement leaves is nobody's debt",
    why: 'What was produced must be paid for one day.',
    edits: [{ file: END_SQL, find: ', debt = acc.debt + s.lost', replace: '' }],
    tests: [SCHEDULES],
  },
  {
    name: 'the bytes of requests are not given free again',
    why: 'An account would be shut out for good.',
    edits: [{ file: END_SQL, find: 'request_bytes = acc.request_bytes - s.bytes, ', replace: '' }],
    tests: [SCHEDULES],
  },
  {
    name: 'calls that give back have their turn before those that collect',
    why: 'A call would go uncollected beside a balance that could have paid for it.',
    edits: [{ file: END_SQL, find: 'x.due > x.held DESC, x.place', replace: 'x.due > x.held, x.place' }],
    tests: [BATCHES],
  },
  {
    name: 'the second call of a batch collects from a grant that the first has emptied',
    why: 'What calls of one statement collect is taken from what those before them have left.',
    edits: [{ file: END_SQL, find: 'left_of[payer] := left_of[payer] - part;', replace: '' }],
    tests: [BATCHES],
  },
  {
    name: 'a grant is revived by a refund',
    why: 'What had not been spent when a grant expired is gone, whatever comes back.',
    edits: [{ file: END_SQL, find: 'PERFORM expire_grants(account_ids, moment);', replace: '' }],
    tests: [EXPIRY],
  },
  {
    name: 'a grant lives a day from whatever came back last',
    why: 'Busy accounts would keep it for ever.',
    edits: [
      {
        file: END_SQL,
        find: 'greatest(g.revived_until, g.expires_at + interval',
        replace: 'greatest(g.revived_until, now() + interval',
      },
    ],
    tests: [EXPIRY],
  },
  {
    name: 'what comes back to an expired grant is lost',
    why: 'A call that fails gives its credits back: they can be spent for a day after the expiry.',
    edits: [{ file: END_SQL, find: 'WHEN s.comes_back AND g.expires_at <= moment', replace: 'WHEN false' }],
    tests: [EXPIRY],
  },
  {
    name: 'what comes back too late can be seen',
    why: 'It expires in the statement that gives it back, so that no balance has it.',
    edits: [{ file: END_SQL, find: 'IF late IS NOT NULL THEN PERFORM', replace: 'IF false THEN PERFORM' }],
    tests: [EXPIRY],
  },
]
