import type { Mutant } from './mutant.ts'
import { SCHEDULES, TOKENS, TOKENS_OF_CALLS } from './killing-tests.ts'

const OPEN_SQL = 'sql/open_calls.sql'
const CORRECT_SQL = 'sql/correct_tokens.sql'

/** Bugs in what is counted of the tokens of a minute. */
export const OF_TOKENS: readonly Mutant[] = [
  {
    name: 'the tokens of one batch do not count for each other',
    why: 'Room for one call must not open two that come in one statement.',
    edits: [
      {
        file: OPEN_SQL,
        find: 'moment) + tokens_taken + tokens > r.tokens_per_minute',
        replace: 'moment) + tokens > r.tokens_per_minute',
      },
    ],
    tests: [TOKENS],
  },
  {
    name: 'the tokens of a key are not asked for',
    why: 'The tighter one of account and key decides.',
    edits: [
      {
        file: OPEN_SQL,
        find: 'tokens_of[key_place] + tokens > r.tokens_of_key',
        replace: '0 > r.tokens_of_key',
      },
    ],
    tests: [TOKENS],
  },
  {
    name: 'a call that ends lowers the window that runs then',
    why: 'A correction counts in the window that the call reserved in, and in no later one.',
    edits: [
      {
        file: CORRECT_SQL,
        find: 'w.id = c.account_id AND w.token_window_at <= c.created_at',
        replace: 'w.id = c.account_id',
      },
    ],
    tests: [TOKENS, SCHEDULES],
  },
  {
    name: 'a failed call keeps its tokens',
    why: 'A refund gives back all that was reserved.',
    edits: [{ file: CORRECT_SQL, find: "WHEN c.status = 'failed' THEN 0", replace: 'WHEN false THEN 0' }],
    tests: [TOKENS, SCHEDULES],
  },
  {
    name: 'a settlement never counts for more than was reserved',
    why: 'The tokens of a minute are corrected to what a call really had, more or less.',
    edits: [
      {
        file: CORRECT_SQL,
        find: 'WHERE acc.id = s.id AND s.change <> 0',
        replace: 'WHERE acc.id = s.id AND s.change < 0',
      },
    ],
    tests: [TOKENS, SCHEDULES],
  },
  {
    name: 'what is reserved is not corrected',
    why: 'Settlements and refunds correct the windows in the transaction that ends the call.',
    edits: [
      { file: 'sql/end_calls.sql', find: 'IF tokens_limited THEN PERFORM correct_tokens(ended); END IF;', replace: '' },
    ],
    tests: [TOKENS, SCHEDULES],
  },
  {
    name: 'every call begins a window',
    why: 'A window lasts a minute from its first call on.',
    edits: [
      {
        file: 'sql/token_window.sql',
        find: "newest > moment - interval '60 seconds'",
        replace: "newest > moment - interval '0 seconds'",
      },
    ],
    tests: [TOKENS],
  },
  {
    name: 'pictures are refused where tokens are spent',
    why: 'What is not paid by tokens does not count.',
    edits: [{ file: OPEN_SQL, find: 'WHEN tokens > 0 AND (', replace: 'WHEN (' }],
    tests: [TOKENS],
  },
  {
    name: 'a lifted limit leaves its window',
    why: 'Tokens are counted from when the limit is set.',
    edits: [
      {
        file: 'src/shared/identity/account-limits.ts',
        find: '(changes.tokensPerMinute === null && UNCOUNTED_TOKENS)',
        replace: '{}',
      },
    ],
    tests: [TOKENS],
  },
  {
    name: 'a call above the whole limit waits for ever',
    why: 'What no window has room for is refused with 400, which is not tried again.',
    edits: [
      {
        file: 'src/api/v1/calls/place-call.ts',
        find: "isAboveLimit(order, tokens) ? 'tokens_above_limit' : priceGuard(ctx, order)",
        replace: 'priceGuard(ctx, order)',
      },
    ],
    tests: [TOKENS_OF_CALLS],
  },
]
