/** Why an automatic top-up failed: codes of ours, or what the provider calls a decline. Pure. */

/** The provider has the card no more, or knows it in its other mode only. */
export const CARD_GONE = 'card_gone'
/** What it buys is not in the catalogue any more. */
export const NOT_SOLD = 'not_sold'
/** Another payment would be beyond what the owner allows per month. */
export const MONTHLY_CAP = 'monthly_cap'

const CONFIRM = 'The bank wants you to confirm the payment yourself: buy credits on the credits page.'
const INCORRECT = 'The details of the card are no longer correct.'

const WORDS: Record<string, string> = {
  [CARD_GONE]: 'The saved card is no longer known to our payment provider.',
  [NOT_SOLD]: 'What it buys is no longer sold.',
  [MONTHLY_CAP]: 'The most that you allow per month is used up.',
  insufficient_funds: 'The card has insufficient funds.',
  withdrawal_count_limit_exceeded: 'The card has reached its limit.',
  card_velocity_exceeded: 'The card has reached its limit.',
  expired_card: 'The card has expired.',
  incorrect_number: INCORRECT,
  invalid_account: INCORRECT,
  incorrect_cvc: INCORRECT,
  authentication_required: CONFIRM,
  requires_action: CONFIRM,
  currency_not_supported: 'The card does not pay in this currency.',
}

/** A reason in words, for the owner: one sentence. What only the bank should know (a stolen card) stays general. */
export const failureWords = (failure: string): string =>
  Object.hasOwn(WORDS, failure) ? WORDS[failure]! : 'The card was declined.'
