import type { Edit } from '../../tree-copy.ts'
import type { Mutant } from './mutant.ts'
import { SCHEDULES, VERBS, DEBTS, SAME_BOOKS } from './judges.ts'

const END_SQL = 'sql/end_calls.sql'

const END_PLAIN_SQL = 'sql/end_usual_calls.sql'

const END_ONE_SQL = 'sql/end_one_call.sql'

const STATUS_GUARD: Edit = {
  file: END_SQL,
  find: "WHERE o.nth = 1 AND c.status IN ('queued', 'running')",
  replace: 'WHERE o.nth = 1',
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
        file: 'migrations/003_money.ts',
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
    edits: [{ file: END_SQL, find: 'AND (o.attempt IS NULL OR o.attempt = c.attempts)', replace: '' }],
    tests: [VERBS, SCHEDULES],
  },
  {
    name: 'a refund of a lost job ignores that the call runs',
    why: 'A job may be taken even if its acknowledgement was lost.',
    edits: [{ file: END_SQL, find: 'AND (o.from_status IS NULL OR o.from_status = c.status)', replace: '' }],
    tests: [VERBS, SCHEDULES],
  },
  {
    name: 'a waiter refunds before the deadline',
    why: 'Looking must not end what runs.',
    edits: [{ file: END_SQL, find: 'AND (o.overdue IS NOT TRUE OR c.deadline_at < now())', replace: '' }],
    tests: [VERBS, SCHEDULES],
  },
  {
    name: 'credits go back to the wrong lot',
    why: 'A refund gives back to the very grants it came from.',
    edits: [
      {
        file: END_SQL,
        find: 'SELECT x.id AS call_id, x.account_id, x.turn, x.status, charged.grant_id,',
        replace: `SELECT x.id AS call_id, x.account_id, x.turn, x.status,
          (SELECT g.id FROM grants g WHERE g.account_id = x.account_id ORDER BY g.id DESC LIMIT 1) AS grant_id,`,
      },
      {
        file: END_PLAIN_SQL,
        find: 'AS holder, charge.grant_id,',
        replace: `AS holder,
          (SELECT g.id FROM grants g WHERE g.account_id = c.account_id ORDER BY g.id DESC LIMIT 1) AS grant_id,`,
      },
      {
        file: END_ONE_SQL,
        find: 'charge.grant_id,',
        replace: '(SELECT g.id FROM grants g WHERE g.account_id = c.account_id ORDER BY g.id DESC LIMIT 1),',
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
        find: 'now() + make_interval(secs => e.result_seconds) FROM ended e',
        replace: 'now() + make_interval(secs => e.result_seconds) FROM ended e WHERE false',
      },
      {
        file: END_PLAIN_SQL,
        find: 'FROM unnest(ids, outputs) AS u (id, output)',
        replace: 'FROM unnest(ids, outputs) AS u (id, output) WHERE false',
      },
      {
        file: END_ONE_SQL,
        find: 'VALUES (end_id, end_output, now() + make_interval(secs => result_seconds))',
        replace: 'SELECT end_id, end_output, now() WHERE false',
      },
    ],
    tests: [SCHEDULES],
  },
  {
    name: 'debt is forgotten by a refund',
    why: 'Credits that come back are credits that the account gets.',
    edits: [{ file: END_SQL, find: 'IF owes THEN', replace: 'IF false THEN' }],
    tests: [DEBTS, SCHEDULES],
  },
  {
    name: "what a settlement leaves is nobody's debt",
    why: 'What was produced must be paid for one day.',
    edits: [{ file: END_SQL, find: 'debt = acc.debt + s.uncollected,', replace: '' }],
    tests: [SCHEDULES],
  },
  {
    name: 'the bytes of requests are not given free again',
    why: 'An account would be shut out for good.',
    edits: [
      { file: END_SQL, find: 'request_bytes = acc.request_bytes - s.bytes,', replace: '' },
      { file: END_PLAIN_SQL, find: 'request_bytes = acc.request_bytes - s.bytes, ', replace: '' },
      { file: END_ONE_SQL, find: 'request_bytes = acc.request_bytes - bytes,', replace: '' },
    ],
    tests: [SCHEDULES],
  },
  {
    name: 'the short end ends what another attempt works on',
    why: 'The attempt is the fence of a refund, whichever statement makes it.',
    edits: [
      { file: END_PLAIN_SQL, find: 'AND (u.attempt IS NULL OR u.attempt = c.attempts)', replace: '' },
      { file: END_ONE_SQL, find: 'AND (of_attempt IS NULL OR of_attempt = c.attempts)', replace: '' },
    ],
    tests: [SAME_BOOKS, VERBS],
  },
  {
    name: 'a chat is settled at a price that its row does not have',
    why: 'What a job says decides nothing about money.',
    edits: [
      { file: END_SQL, find: 'AND (o.price_version IS NULL OR o.price_version = c.price_version)', replace: '' },
      { file: END_PLAIN_SQL, find: 'AND (u.price_version IS NULL OR u.price_version = c.price_version)', replace: '' },
      { file: END_ONE_SQL, find: 'AND (taken_price IS NULL OR taken_price = c.price_version)', replace: '' },
    ],
    tests: [VERBS],
  },
  {
    name: 'what ended before its begin was written costs nothing',
    why: 'Its upstream was asked, and bills.',
    edits: [
      { file: END_SQL, find: 'WHEN c.attempts = 0 AND e.ran_ms IS NULL THEN 0', replace: 'WHEN c.attempts = 0 THEN 0' },
      {
        file: END_PLAIN_SQL,
        find: 'WHEN c.attempts = 0 AND u.ran_ms IS NULL THEN 0',
        replace: 'WHEN c.attempts = 0 THEN 0',
      },
      {
        file: END_ONE_SQL,
        find: 'WHEN c.attempts = 0 AND ran_ms IS NULL THEN 0',
        replace: 'WHEN c.attempts = 0 THEN 0',
      },
    ],
    tests: [VERBS],
  },
  {
    name: 'the short end ends a call twice',
    why: 'A call that has ended is left alone.',
    edits: [
      { file: END_PLAIN_SQL, find: "u.place AND c.status IN ('queued', 'running')", replace: 'u.place' },
      { file: END_ONE_SQL, find: "c.status IN ('queued', 'running')", replace: 'true' },
    ],
    tests: [SAME_BOOKS, SCHEDULES],
  },
  {
    name: 'the short end gives nothing a day more',
    why: 'Credits that come back to a lot past its time can be spent for a day.',
    edits: [
      {
        file: END_PLAIN_SQL,
        find: "THEN now() + interval '24 hours'\n        ELSE g.expires_at END",
        replace: 'THEN g.expires_at ELSE g.expires_at END',
      },
      {
        file: END_ONE_SQL,
        find: "THEN now() + interval '24 hours' ELSE g.expires_at END",
        replace: 'THEN g.expires_at ELSE g.expires_at END',
      },
    ],
    tests: [VERBS, SAME_BOOKS],
  },
]
