import type { Falsification, Scene } from './falsification.ts'
import { OF_PAYMENTS } from './falsified-payments.ts'

/** One for each invariant, at least. */
export const FALSIFICATIONS: Falsification[] = [
  ...['moderation', 'rerank', 'speech', 'transcription'].map((modality): Falsification => [
    `a call that cost less than was charged for it (${modality})`,
    `UPDATE calls SET modality = '${modality}' WHERE id = ?`,
    ({ settled }) => [settled],
    ['moderations, rankings, speech and transcriptions cost what was charged for them'],
  ]),
  [
    'a balance that was raised',
    'UPDATE accounts SET credits = credits + 1 WHERE id = ?',
    (it) => [it.account.id],
    ["a balance is the sum of its account's entries", "a balance is the sum of its grants' remainders"],
  ],
  [
    'a balance below zero',
    'UPDATE accounts SET credits = -5 WHERE id = ?',
    (it) => [it.account.id],
    ['no balance, no debt and no remainder is negative'],
  ],
  [
    'a remainder that was raised',
    'UPDATE grants SET remaining = remaining + 1 WHERE id = ?',
    (it) => [it.account.grants[0]],
    ["a grant's remainder is the sum of its entries", "a balance is the sum of its grants' remainders"],
  ],
  [
    'a grant that was made larger',
    'UPDATE grants SET amount = amount + 1 WHERE id = ?',
    (it) => [it.account.grants[0]],
    ['a grant has exactly one grant entry, of its amount'],
  ],
  [
    'a grant that outlives its day',
    "UPDATE grants SET revived_until = expires_at + interval '25 hours' WHERE id = ?",
    (it) => [it.account.grants[0]],
    ['no grant outlives its first expiry by more than a day, or by one from when a payment was reinstated'],
  ],
  [
    'an entry whose amount was changed',
    "UPDATE ledger_entries SET amount = amount - 1 WHERE call_id = ? AND kind = 'charge'",
    (it) => [it.settled],
    [
      "a call's entries add up to its credits",
      "a call's charge entries add up to its pre-charge",
      'entries are numbered without gaps, and balanceAfter follows from the entry before',
    ],
  ],
  [
    'an entry that was deleted',
    "DELETE FROM ledger_entries WHERE call_id = ? AND kind = 'refund'",
    (it) => [it.refunded],
    ["a call's entries add up to its credits", "an account's number of entries is its newest entry's"],
  ],
  [
    'a balanceAfter that was changed',
    'UPDATE ledger_entries SET balance_after = balance_after + 1 WHERE account_id = ? AND seq = 2',
    (it) => [it.account.id],
    ['entries are numbered without gaps, and balanceAfter follows from the entry before'],
  ],
  [
    'a call whose credits were lowered',
    'UPDATE calls SET credits = credits - 1 WHERE id = ?',
    (it) => [it.settled],
    ["a call's entries add up to its credits"],
  ],
  [
    'a failed call that was made to succeed',
    "UPDATE calls SET status = 'succeeded', error_type = NULL WHERE id = ?",
    (it) => [it.refunded],
    ['only a failed call is refunded, and only a succeeded one settled'],
  ],
  [
    'a settled call that was made to fail',
    "UPDATE calls SET status = 'failed', error_type = 'upstream_failed' WHERE id = ?",
    (it) => [it.settled],
    [
      'only a failed call is refunded, and only a succeeded one settled',
      'a call that ended has its end, and a failed one costs nothing',
    ],
  ],
  [
    'a refund that was moved to another grant',
    "UPDATE ledger_entries SET grant_id = ? WHERE call_id = ? AND kind = 'refund'",
    (it) => [it.account.grants[1], it.refunded],
    ['no call gives a grant more than it took from it', "a grant's remainder is the sum of its entries"],
  ],
  [
    "an entry over another account's grant",
    `UPDATE ledger_entries SET grant_id = (SELECT id FROM grants WHERE account_id <> ? LIMIT 1)
     WHERE call_id = ? AND kind = 'charge'`,
    (it) => [it.account.id, it.settled],
    ['a call and its grants belong to the account of its entries'],
  ],
  ...(['keyId', 'userId'] as const).flatMap((holder): Falsification[] => {
    const set = 'UPDATE budget_windows SET'
    const ofBudget = `WHERE budget_id = (SELECT id FROM budgets WHERE ${holder === 'keyId' ? 'key_id' : 'user_id'} = ?)`
    const whose = ({ account }: Scene) => [account[holder]]
    const used = 'what was used of a budget is what the calls of its key or member in that window cost'
    const held = 'what is held of a budget is what the open calls of its key or member in that window were charged'
    const counted = 'every call of a key or member is counted since there is a budget'
    return [
      [`a use that was lowered (${holder})`, `${set} used = used - 1 ${ofBudget}`, whose, [used]],
      [`a hold that was lowered (${holder})`, `${set} held = held - 1 ${ofBudget}`, whose, [held]],
      [`a window that was deleted (${holder})`, `DELETE FROM budget_windows ${ofBudget}`, whose, [counted]],
    ]
  }),
  [
    'a hold of an account that was raised',
    'UPDATE accounts SET held = held + 1 WHERE id = ?',
    (it) => [it.account.id],
    ['an account holds what its open calls were charged'],
  ],
  [
    'a call that was given to another member',
    'UPDATE calls SET user_id = gen_random_uuid() WHERE id = ?',
    (it) => [it.settled],
    ['a call is of the account and the member of its key'],
  ],
  [
    "a key's outstanding calls that were raised",
    'UPDATE api_keys SET outstanding_calls = outstanding_calls + 1 WHERE id = ?',
    (it) => [it.account.keyId],
    ["a key's outstanding calls are its open calls, where they are limited"],
  ],
  [
    'an account that hides its budgets and its limited key',
    'UPDATE accounts SET keys_limited = false WHERE id = ?',
    (it) => [it.account.id],
    ['an account with a budget or a limited key says so'],
  ],
  [
    "tokens of an account's minute that were lost",
    'UPDATE accounts SET token_window_used = token_window_used - 1 WHERE id = ?',
    (it) => [it.account.id],
    ['what is used of the tokens of a minute is what the calls of that window reserve, or came to'],
  ],
  [
    "tokens of a key's minute that no call reserved",
    'UPDATE api_keys SET token_window_used = token_window_used + 1 WHERE id = ?',
    (it) => [it.account.keyId],
    ['what is used of the tokens of a minute is what the calls of that window reserve, or came to'],
  ],
  [
    'a call of the minute that came to other tokens',
    'UPDATE calls SET input_tokens = input_tokens + 1 WHERE id = ?',
    (it) => [it.chat],
    ['what is used of the tokens of a minute is what the calls of that window reserve, or came to'],
  ],
  [
    'an open call with an end',
    'UPDATE calls SET finished_at = now() WHERE id = ?',
    (it) => [it.open],
    ['a call that ended has its end, and a failed one costs nothing'],
  ],
  [
    'a chat that cost something else',
    'UPDATE calls SET cached_input_tokens = 0 WHERE id = ?',
    (it) => [it.chat],
    ['a chat costs what its price says of its tokens'],
  ],
  [
    'a call that cost more than its charge allows',
    'UPDATE calls SET credits_uncollected = 36 WHERE id = ?',
    (it) => [it.settled],
    [
      'no call costs more than twice its pre-charge',
      "an account's debt is what was left uncollected, less what was collected or forgiven since",
    ],
  ],
  [
    'pictures that were delivered and not charged',
    'UPDATE calls SET pictures = 1 WHERE id = ?',
    (it) => [it.settled],
    ['an image call costs the pictures that it delivered, each at a row of its price'],
  ],
  [
    'pictures that cost more than was charged for them',
    'UPDATE calls SET pictures = 1, credits_uncollected = 20 WHERE id = ?',
    (it) => [it.settled],
    [
      'no image call costs more than it was charged for its pictures',
      "an account's debt is what was left uncollected, less what was collected or forgiven since",
    ],
  ],
  [
    'a chat with more output than it may have',
    'UPDATE calls SET estimated_output_tokens = 1 WHERE id = ?',
    (it) => [it.chat],
    ["a chat's tokens can be: of its input at most one a byte, and at most twice the output that it may have"],
  ],
  [
    'a chat with more input than bytes',
    'UPDATE calls SET estimated_input_tokens = 43 WHERE id = ?',
    (it) => [it.chat],
    ["a chat's tokens can be: of its input at most one a byte, and at most twice the output that it may have"],
  ],
  [
    'a call at a share that its group does not have',
    `UPDATE calls SET group_name = 'partner', price = price || '{"priceBasisPoints": 8000}' WHERE id = ?`,
    (it) => [it.settled],
    ['a call has the share of its group, as its version of the catalogue has it'],
  ],
  [
    'a share of somebody without a group',
    `UPDATE calls SET price = price || '{"priceBasisPoints": 20000}' WHERE id = ?`,
    (it) => [it.chat],
    [
      'a call has the share of its group, as its version of the catalogue has it',
      'a call has the price of its version',
      'a chat costs what its price says of its tokens',
    ],
  ],
  [
    'a call with the price of today',
    `UPDATE calls SET price = jsonb_set(price, '{input}', '600') WHERE id = ?`,
    (it) => [it.chat],
    ['a call has the price of its version', 'a chat costs what its price says of its tokens'],
  ],
  [
    'a call with a version that nobody knows',
    'UPDATE calls SET price_version = gen_random_uuid() WHERE id = ?',
    (it) => [it.open],
    ['a call has the price of its version'],
  ],
  [
    'a debt that nothing left',
    'UPDATE accounts SET debt = debt + 1 WHERE id = ?',
    (it) => [it.account.id],
    [
      "an account's debt is what was left uncollected, less what was collected or forgiven since",
      'an account with debt has nothing to spend',
    ],
  ],
  [
    'a debt that was forgotten',
    'UPDATE calls SET credits_uncollected = 7 WHERE id = ?',
    (it) => [it.settled],
    ["an account's debt is what was left uncollected, less what was collected or forgiven since"],
  ],
  [
    'a sum of request bytes that is wrong',
    'UPDATE accounts SET request_bytes = request_bytes + 1 WHERE id = ?',
    (it) => [it.account.id],
    ["an account's request bytes are those of its open calls"],
  ],
  [
    'a count of open calls that is wrong',
    'UPDATE accounts SET outstanding_calls = outstanding_calls + 1 WHERE id = ?',
    (it) => [it.account.id],
    ["an account's outstanding calls are its open calls"],
  ],
  [
    'a call that nobody finished',
    "UPDATE calls SET deadline_at = now() - interval '2 minutes' WHERE id = ?",
    (it) => [it.open],
    ['no call is open longer than a minute past its deadline'],
  ],
  [
    'an hour of usage that was raised',
    `INSERT INTO usage_hours SELECT account_id, date_trunc('hour', accepted_at(id), 'UTC'), user_id, key_id, model,
      modality, '', '', 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0 FROM calls WHERE id = ?`,
    (it) => [it.settled],
    [
      'the hours of usage are what the calls that ended before the watermark add up to',
      'the usage of a day is what the ledger charged for its calls',
    ],
  ],
  ...OF_PAYMENTS,
]
