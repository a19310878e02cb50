import type { Part } from '../part.ts'

/** The page of credits: buying, payments, top-ups, grants and the ledger. */
export const credits = {
  balance: (credits: Part): Part => ['Balance ', credits],
  held: (credits: string, calls: string, isOne: boolean) =>
    ` · ${credits} held by ${calls} running ${isOne ? 'call' : 'calls'}`,
  owe: (credits: string) => `You owe ${credits}.`,
  aboutDebt:
    ' Past calls cost more than your balance could pay, or a payment was taken back. The next credits you receive ' +
    'repay this first; until then, new calls are refused.',
  grants: 'Grants',
  noCredits: 'No credits yet',
  theyAppear: 'They will appear here right away.',
  ledger: 'Ledger',
  aboutLedger:
    'A call is charged the most it can cost when it begins, and settled at what it really cost when it ends. Failed ' +
    'calls are refunded.',
  noEntries: 'No entries yet',
  entriesAppear: 'Every charge, settlement, refund and grant will appear here.',
  columns: {
    received: 'Received',
    left: 'Left',
    what: 'What',
    balance: 'Balance',
    for: 'For',
    how: 'How',
  },
  never: 'never',
  call: (id: string) => `call ${id}`,
  redeem: {
    title: 'Redeem a code',
    code: 'Code',
    redeem: 'Redeem',
    redeeming: 'Redeeming…',
    done: (received: string, balance: string) => `${received} received. Your balance is ${balance}.`,
  },
  buy: {
    title: 'Buy credits',
    thenReturn: "You pay on our payment provider's page, and then return here.",
    credits: 'credits',
    bonus: (credits: string) => `+ ${credits} bonus`,
    opening: 'Opening…',
    buyFor: (credits: string, price: string) => `Buy ${credits} for ${price}`,
    buys: (price: string, credits: string) => `${price} buys ${credits}.`,
    another: (currency: string) => `Another amount (${currency})`,
    range: (least: string, most: string, rate: string) => `From ${least} to ${most}. ${rate}`,
    buy: 'Buy',
    enter: 'Enter an amount, like 25.00.',
    choose: (least: string, most: string) => `Choose an amount from ${least} to ${most}.`,
  },
  payments: {
    title: 'Payments',
    none: 'No payments yet',
    appear: 'What you buy will appear here.',
    statuses: {
      created: 'Starting',
      open: 'Waiting for payment',
      paid: 'Paid',
      expired: 'Expired',
      failed: 'Failed',
      review: 'Being checked',
    },
    notPaid: 'Not paid yet',
    takenBack: (credits: string) => ` ${credits} taken back`,
    continue: 'Continue',
    cancelling: 'Cancelling…',
    automatic: 'Automatic',
    checkout: 'Checkout',
    receipt: 'Receipt',
    noSuch: 'There is no such payment.',
    checking: 'Checking your payment…',
    thanks: (price: string) => `Thank you. ${price} paid,`,
    received: (credits: string) => ` ${credits} received. `,
    expired: (price: string) => `The payment of ${price} was not made in time. Nothing was charged.`,
    failed: (price: string) => `The payment of ${price} failed. Nothing was charged; you can try again below.`,
    review: (price: string) =>
      `We have to check your payment of ${price}. You will get its credits as soon as that is done.`,
    unpaid: (price: string, credits: string) => `Nothing was paid yet: ${price} for ${credits}.`,
    unconfirmed: (price: string, credits: string) =>
      `Your payment of ${price} is not confirmed yet. As soon as it is, you will get ${credits} automatically. Some ` +
      'payment methods take days.',
  },
  low: {
    title: 'Low balance e-mail',
    none: 'No e-mail will be sent.',
    below: (credits: string) => `You will get an e-mail below ${credits}.`,
    label: 'E-mail me below (credits)',
    hint: 'One e-mail each time the balance falls below this.',
  },
  turnOn: 'Turn on',
  turnOff: 'Turn off',
  topUp: {
    title: 'Automatic top-up',
    noCard:
      'Buys credits automatically when your balance runs low. It needs a saved card: tick the box to save yours on ' +
      'the payment page the next time you buy.',
    failed: 'The last automatic top-up failed',
    turnedOff: 'Automatic top-up was turned off',
    at: (time: Part, reason: string): Part => [' (', time, `). ${reason} `],
    retry: (time: Part): Part => ['If your balance is still low then, it is tried again: ', time, '.'],
    card: (digits: string, expires: string) => ` ending in ${digits}, expires ${expires}`,
    removeCard: 'Remove card',
    choice: (credits: string, bonus: string | null, price: string) =>
      `${credits}${bonus === null ? '' : ` + ${bonus} bonus`} for ${price}`,
    anotherAmount: 'Another amount',
    capNoAmount: 'At most per month must be an amount, like 50.00.',
    capTooLow: (price: string) => `At most per month must be at least ${price}, which one top-up costs.`,
    off: 'Automatic top-up is off.',
    on: 'Automatic top-up is on.',
    below: 'When the balance falls below (credits)',
    belowHint: 'A call that leaves less starts a top-up. With too few credits left for a call, buy some first.',
    cap: (currency: string) => `At most per month (${currency})`,
    capHint: 'All automatic payments of a calendar month (UTC) together.',
    amount: (currency: string) => `Amount (${currency})`,
    rate: (credits: string, price: string) => `${credits} credits for ${price}.`,
  },
}
