/** How a charge of a card comes out; `authentication`: the bank asks its owner, who must be there. */
export type Outcome = 'paid' | 'generic_decline' | 'insufficient_funds' | 'authentication'

/** One of Stripe's test cards, or one that only this sandbox has. */
export interface TestCard {
  /** The id under which the API takes it, such as `pm_card_visa`. */
  readonly token: string
  readonly number: string
  readonly brand: 'visa' | 'mastercard'
  /** The label of its button on the page. */
  readonly label: string
  /** With its owner present. */
  readonly now: Outcome
  /** Off-session, once it was saved. */
  readonly later: Outcome
  readonly refunds: 'succeeded' | 'pending' | 'failed'
  /** Whether its owner disputes every charge at once. */
  readonly disputed: boolean
}

const GOOD = { brand: 'visa', now: 'paid', later: 'paid', refunds: 'succeeded', disputed: false } as const

/** The cards, by the name that a choice of the page has. */
export const CARDS = {
  card: { ...GOOD, token: 'pm_card_visa', number: '4242424242424242', label: 'Pay by card' },
  mastercard: {
    ...GOOD,
    token: 'pm_card_mastercard',
    number: '5555555555554444',
    brand: 'mastercard',
    label: 'Pay by another card',
  },
  authentication: {
    ...GOOD,
    token: 'pm_card_threeDSecure2Required',
    number: '4000002500003155',
    now: 'authentication',
    label: 'A card that needs authentication now',
  },
  declined: {
    ...GOOD,
    token: 'pm_card_chargeDeclined',
    number: '4000000000000002',
    now: 'generic_decline',
    later: 'generic_decline',
    label: 'A card that is declined',
  },
  'no-funds': {
    ...GOOD,
    token: 'pm_card_chargeDeclinedInsufficientFunds',
    number: '4000000000009995',
    now: 'insufficient_funds',
    later: 'insufficient_funds',
    label: 'A card without funds',
  },
  'later-declined': {
    ...GOOD,
    token: 'pm_card_chargeCustomerFail',
    number: '4000000000000341',
    later: 'generic_decline',
    label: 'A card that is declined when it is charged later',
  },
  'later-authentication': {
    ...GOOD,
    token: 'pm_card_authenticationRequired',
    number: '4000002760003184',
    later: 'authentication',
    label: 'A card that needs authentication when it is charged later',
  },
  'refunds-pending': {
    ...GOOD,
    token: 'pm_card_pendingRefund',
    number: '4000000000007726',
    refunds: 'pending',
    label: 'A card whose refunds stay pending',
  },
  'refunds-failed': {
    ...GOOD,
    token: 'pm_card_refundFail',
    number: '4000000000005126',
    refunds: 'failed',
    label: 'A card whose refunds fail afterwards',
  },
  disputed: {
    ...GOOD,
    token: 'pm_card_createDispute',
    number: '4000000000000259',
    disputed: true,
    label: 'A card whose owner disputes the charge',
  },
} as const satisfies Record<string, TestCard>

/** The name of a card in the list. */
export type CardName = keyof typeof CARDS

/** Whether a text names a card of the list. */
export function isCard(name: string): name is CardName {
  return Object.hasOwn(CARDS, name)
}

/** The card that the API knows by this token. */
export function cardOfToken(token: string): CardName | undefined {
  return (Object.keys(CARDS) as CardName[]).find((name) => CARDS[name].token === token)
}
