import type { Mutant } from './mutant.ts'
import {
  BUDGETS,
  BUDGET_MAILS,
  INVITATIONS,
  LATE_REQUESTS,
  MEMBERS,
  MEMBER_BUDGETS,
  ORGANISATIONS,
  ROLES_TABLE,
  SCHEDULES,
  TEXT_FIELDS,
} from './killing-tests.ts'

const END_SQL = 'sql/end_calls.sql'
const OPEN_SQL = 'sql/open_calls.sql'
const NOTIFY_SQL = 'sql/notify_of_budget.sql'

/** Bugs in what a budget of a key or a member counts. */
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
        find: 'kb.key_id = k.id AND kb.id = ANY (budget_ids)',
        replace: 'kb.key_id = k.id AND kb.key_id = keys[1]',
      },
    ],
    tests: [BUDGETS],
  },
  {
    name: 'the calls of one batch do not count for each other',
    why: 'A budget for one call must not open two that come in one statement.',
    edits: [{ file: OPEN_SQL, find: 'used_of[of_key], needed', replace: 'used_before[of_key], needed' }],
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
        find: 'c.id = ANY (ended) AND c.created_at >= b.created_at',
        replace: 'c.id = ANY (ended)',
      },
    ],
    tests: [BUDGETS],
  },
  {
    name: 'the calls of a batch with another key do not count for their member',
    why: "A member's budget is one, whatever keys their calls come with.",
    edits: [{ file: OPEN_SQL, find: 'used_of[of_member], needed', replace: 'used_before[of_member], needed' }],
    tests: [MEMBER_BUDGETS],
  },
  {
    name: 'what running calls hold of a budget is refused as spent',
    why: 'A call that only has to wait must not be refused for good.',
    edits: [{ file: OPEN_SQL, find: 'spent_of[of_key], r.amount', replace: 'used_of[of_key], r.amount' }],
    tests: [BUDGETS],
  },
  {
    name: 'a call that ends goes on holding its budget',
    why: 'What is held of a budget is what its open calls were charged.',
    edits: [{ file: END_SQL, find: 'held = w.held - s.held', replace: 'held = w.held' }],
    tests: [BUDGETS, SCHEDULES],
  },
  {
    name: 'a hold counts as spending of a budget',
    why: 'The notice of a budget is sent once per window: a hold that is given back must not use it up.',
    edits: [
      { file: NOTIFY_SQL, find: 'spent bigint := NEW.used - NEW.held', replace: 'spent bigint := NEW.used' },
      { file: NOTIFY_SQL, find: 'coalesce(OLD.used - OLD.held, 0)', replace: 'coalesce(OLD.used, 0)' },
    ],
    tests: [BUDGET_MAILS],
  },
  {
    name: 'the budget of a key is told where both are spent',
    why: 'Where both budgets are spent, the member is told of their own, which another key does not help against.',
    edits: [
      {
        file: OPEN_SQL,
        find: "r.amount) THEN 'member_budget_exceeded'",
        replace: "r.amount) AND of_key IS NULL THEN 'member_budget_exceeded'",
      },
    ],
    tests: [MEMBER_BUDGETS],
  },
  {
    name: 'a call uses the budget of its key alone',
    why: 'A call with a limited key counts for the member whose key it is, too.',
    edits: [
      {
        file: 'sql/budgets_of.sql',
        find: 'b.account_id = of_account AND b.user_id = of_member',
        replace:
          'b.account_id = of_account AND b.user_id = of_member AND NOT EXISTS (SELECT FROM budgets o ' +
          'WHERE o.key_id = of_key)',
      },
    ],
    tests: [MEMBER_BUDGETS, SCHEDULES],
  },
  {
    name: 'a budget of a member is set without a mark on the account',
    why: 'Statements look for budgets only where the account says that it has some.',
    edits: [
      {
        file: 'sql/mark_limited.sql',
        find: 'EXISTS (SELECT FROM budgets b WHERE b.account_id = acc.id)',
        replace: 'EXISTS (SELECT FROM budgets b WHERE b.account_id = acc.id AND b.key_id IS NOT NULL)',
      },
    ],
    tests: [MEMBER_BUDGETS],
  },
  {
    name: 'an Idempotency-Key is that of the whole account',
    why: 'A key that one member chose never leads another to their call.',
    edits: [
      {
        file: OPEN_SQL,
        find: "array_agg(c.account_id || ' ' || c.user_id || ' ' || c.idempotency_key), array_agg(c.id) INTO names",
        replace:
          "array_agg(c.account_id || ' ' || (SELECT m.user_id FROM members m WHERE m.account_id = c.account_id " +
          "AND m.user_id <> c.user_id LIMIT 1) || ' ' || c.idempotency_key), array_agg(c.id) INTO names",
      },
    ],
    tests: [MEMBERS],
  },
  {
    name: 'a call is shown to every key of its account',
    why: 'What is looked up by an id is known to the holder of the key alone.',
    edits: [
      {
        file: 'src/shared/reports/call-records.ts',
        find: ' || row.user_id !== holder.userId',
        replace: '',
      },
    ],
    tests: [MEMBERS],
  },
  {
    name: 'a member who is removed keeps the keys',
    why: 'Keys of an account are good only while their holder is a member of it.',
    edits: [
      {
        file: 'src/shared/identity/member-changes.ts',
        find: '  await revokeKeysOfMember(trx, member)\n',
        replace: '',
      },
    ],
    tests: [MEMBER_BUDGETS, MEMBERS],
  },
  {
    name: 'an invitation is accepted by any mailbox',
    why: 'Only who has the invited mailbox may accept it: links are forwarded and leak.',
    edits: [
      {
        file: 'src/shared/identity/invitations.ts',
        find: '!accepted || mailboxOf(accepted.email) !== mailboxOf(email)',
        replace: '!accepted',
      },
    ],
    tests: [INVITATIONS],
  },
  {
    name: 'an admin who was just made a member changes members',
    why: 'A request is let in by the role of its moment, and acts later.',
    edits: [
      {
        file: 'src/shared/identity/member-changes.ts',
        find: '    await requireManager(trx, { ...member, userId: by })\n    if (before',
        replace: '    if (before',
      },
    ],
    tests: [LATE_REQUESTS],
  },
  {
    name: 'an admin may hand the account over',
    why: 'Who owns an account decides alone who owns it next.',
    edits: [
      {
        file: 'src/api/endpoint/auth.ts',
        find: "export const owner = withRole('owner')",
        replace: "export const owner = withRole('owner', 'admin')",
      },
    ],
    tests: [ROLES_TABLE],
  },
  {
    name: 'an admin lifts their own budget',
    why: 'It was given to them by somebody else.',
    edits: [
      {
        file: 'src/shared/identity/member-changes.ts',
        find: 'budget !== undefined && by === member.userId',
        replace: 'budget && by === member.userId',
      },
    ],
    tests: [ORGANISATIONS],
  },
  {
    name: 'who has not proved their address invites',
    why: 'Invitations are mails to strangers in our name.',
    edits: [{ file: 'src/shared/identity/invitations.ts', find: '    await requireVerified(trx, by)\n', replace: '' }],
    tests: [INVITATIONS],
  },
  {
    name: 'an account that never bought credits invites a hundred an hour',
    why: 'Accounts without credits cost nothing.',
    edits: [
      {
        file: 'src/api/endpoint/rate-limits.ts',
        find: 'const UNPAID_INVITATIONS_PER_HOUR = 10\n',
        replace: 'const UNPAID_INVITATIONS_PER_HOUR = 100\n',
      },
    ],
    tests: [INVITATIONS],
  },
  {
    name: 'a name with an address is mailed to strangers',
    why: 'Mail programs make a link of it.',
    edits: [{ file: 'src/shared/platform/text-fields.ts', find: '!ADDRESS.test(', replace: '!/:\\/\\//.test(' }],
    tests: [TEXT_FIELDS],
  },
]
