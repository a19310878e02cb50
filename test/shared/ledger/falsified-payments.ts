import type { Falsification } from './falsification.ts'

/** Those of payments, deductions, codes and what a mailbox was given. */
export const OF_PAYMENTS: Falsification[] = [
  [
    'a grant of a payment that was made larger',
    "UPDATE grants SET amount = amount + 1, remaining = remaining + 1 WHERE payment_id = ? AND origin = 'purchase'",
    (it) => [it.payment],
    ['a paid payment has exactly the grants that it bought, and no other payment has any'],
  ],
  [
    'a grant that its payment has lost',
    "UPDATE grants SET payment_id = NULL WHERE payment_id = ? AND origin = 'bonus'",
    (it) => [it.payment],
    ['a paid payment has exactly the grants that it bought, and no other payment has any'],
  ],
  [
    'a payment with grants that was never paid',
    "UPDATE payments SET status = 'failed', paid_at = NULL WHERE id = ?",
    (it) => [it.payment],
    ['a paid payment has exactly the grants that it bought, and no other payment has any'],
  ],
  [
    'a payment that says it gave more than it did',
    'UPDATE payments SET credits = credits + 1 WHERE id = ?',
    (it) => [it.payment],
    ['a paid payment has exactly the grants that it bought, and no other payment has any'],
  ],
  [
    'credits of a payment that count as reversed and never moved',
    'UPDATE payments SET reversed = 1 WHERE id = ?',
    (it) => [it.payment],
    [
      "a payment's reversed credits are the sum of its reversals, and these moved what the ledger says",
      'a payment is reversed as far as its money went back',
    ],
  ],
  [
    'a refund that took no credits',
    'UPDATE payments SET refunded_minor = 500 WHERE id = ?',
    (it) => [it.payment],
    ['a payment is reversed as far as its money went back'],
  ],
  [
    'a deduction that says it took more than it did',
    'UPDATE deductions SET moved = moved + 1, credits = credits + 1 WHERE account_id = ?',
    (it) => [it.account.id],
    ['a deduction moved what the ledger says'],
  ],
  [
    'an adjustment that nobody decided',
    'DELETE FROM deductions WHERE account_id = ?',
    (it) => [it.account.id],
    ['a deduction moved what the ledger says'],
  ],
  [
    'a deduction that hides a debt',
    'UPDATE deductions SET owed = owed + 3, credits = credits + 3 WHERE account_id = ?',
    (it) => [it.account.id],
    ["an account's debt is what was left uncollected, less what was collected or forgiven since"],
  ],
  [
    'a code that hides a use',
    'UPDATE redemption_codes SET uses = 0 WHERE id = ?',
    (it) => [it.code],
    ['a code was redeemed as often as it says, each time for its credits'],
  ],
  [
    'a mailbox that is said to have been given what was bought',
    "INSERT INTO mailbox_gifts (grant_id, mailbox) VALUES (?, sha256('a mailbox'))",
    (it) => [it.account.grants[0]],
    ['what a mailbox was given once is its sign-up credits, or what the code gave'],
  ],
]
