/**
 * What the mails say in English. Pure. The only user input in them are addresses, and the
 * names of keys and organisations; all are escaped, and none is in a subject.
 */
import { moneyText } from '../terms/currencies.ts'
import { CARD_GONE, MONTHLY_CAP, failureWords } from '../terms/failures.ts'
import type { MailDetails, MoneyMailKind, BudgetNotice, InvitationNotice } from './mails.ts'
import type { Action, Draft, MailContent } from './render.ts'
import { PRODUCT, countedCredits as counted, quoted, write } from './render.ts'

/**
 * The button of a link that works once. Gateways that rewrite links may lose its fragment: the page takes the code,
 * too.
 */
const linkTo = (baseUrl: string, page: string, label: string, token: string): Action => ({
  label,
  url: `${baseUrl}/${page}#token=${token}`,
  otherwise: `If the link does not work, open ${baseUrl}/${page} and enter this code: ${token}`,
})

/** Asks the owner of an address to confirm it. */
export function verificationMail(baseUrl: string, address: string, token: string): MailContent {
  return write({
    subject: `Confirm your e-mail address for ${PRODUCT}`,
    paragraphs: [
      `The address ${address} was used to register an account at ${baseUrl}.`,
      'If that was you, confirm the address within 24 hours:',
    ],
    action: linkTo(baseUrl, 'verify', 'Confirm my address', token),
    closing: ['If that was not you, ignore this e-mail: someone may have mistyped their address.'],
  })
}

/** Lets the owner of an address choose a new password. */
export function resetMail(baseUrl: string, address: string, token: string): MailContent {
  return write({
    subject: `Reset your ${PRODUCT} password`,
    paragraphs: [
      `Someone asked to reset the password of the account ${address} at ${baseUrl}.`,
      'If that was you, open this page within 30 minutes and choose a new password:',
    ],
    action: linkTo(baseUrl, 'reset', 'Choose a new password', token),
    closing: [
      'The link works once, and only the newest link works. Changing your password signs you out everywhere. If ' +
        'this address has not been verified yet, it also ends all API keys of the account.',
      'If that was not you, ignore this e-mail: your password stays the same.',
    ],
  })
}

/** Lets the owner of an address complete a sign-in at a provider, which has not verified the address. */
export function signInLinkMail(baseUrl: string, address: string, token: string): MailContent {
  return write({
    subject: `Complete your sign-in to ${PRODUCT}`,
    paragraphs: [
      `Someone is signing in at ${baseUrl} through a provider, and gave the address ${address}.`,
      'If that is you, open this page within 10 minutes, in the browser in which you began:',
    ],
    action: linkTo(baseUrl, 'sign-in/mail', 'Complete the sign-in', token),
    closing: [
      'The link works once, and in no other browser.',
      'If that was not you, ignore this e-mail: nothing is connected to your account.',
    ],
  })
}

/** Asks the owner of an address to confirm that an account may have it. */
export function addressMail(baseUrl: string, address: string, token: string): MailContent {
  return write({
    subject: `Confirm your new e-mail address for ${PRODUCT}`,
    paragraphs: [
      `Someone asked to make ${address} the e-mail address of their account at ${baseUrl}.`,
      'If that was you, confirm it within 24 hours:',
    ],
    action: linkTo(baseUrl, 'new-address', 'Use this address', token),
    closing: [
      'The link works once, and only the newest link works.',
      'If that was not you, ignore this e-mail: nothing changes.',
    ],
  })
}

/** `2 API keys`: a number of things, as people read it. */
const several = (count: number, thing: string): string => `${counted(count)} ${thing}${count === 1 ? '' : 's'}`

/** Reports to an owner who just proved their address what can use the account, with a link that ends it all. */
export function accessMail(
  baseUrl: string,
  address: string,
  token: string,
  { keys, sessions }: { keys: number; sessions: number },
): MailContent {
  return write({
    subject: `What can use your ${PRODUCT} account`,
    paragraphs: [
      `The address ${address} now belongs to an account at ${baseUrl}.`,
      `${several(keys, 'API key')} and ${several(sessions, 'session')} can use this account.`,
      'If somebody else registered it before you, or any of these are not yours, end them all and choose a new ' +
        'password, within 24 hours:',
    ],
    action: linkTo(baseUrl, 'access', 'End all keys and sessions', token),
    closing: ['The link works once. If all of them are yours, you do not need to do anything.'],
  })
}

/** Notifies the old address of an account that a new one was requested, or has replaced it. */
export function addressNotice(baseUrl: string, { address, step }: MailDetails): MailContent {
  const isChanged = step === 'changed'
  return write({
    subject: isChanged
      ? `The e-mail address of your ${PRODUCT} account has changed`
      : `A new e-mail address was requested for your ${PRODUCT} account`,
    paragraphs: isChanged
      ? [`Your account at ${baseUrl} now belongs to ${address}. Sign in with that address from now on.`]
      : [
          `Someone who knows your password asked to change the e-mail address of your account at ${baseUrl}` +
            ` to ${address}. It changes when the link in an e-mail to that address is opened.`,
        ],
    action: isChanged
      ? { label: 'Open the console', url: baseUrl }
      : { label: 'Open settings', url: `${baseUrl}/settings` },
    closing: [
      isChanged
        ? 'If that was not you, contact the operator of this service at once.'
        : 'If that was not you, change your password now: that ends the link, and every other session.',
    ],
  })
}

/** What changed of how a user signs in, as the subject and the sentence of a mail. */
const SIGN_IN_CHANGES: Record<string, { subject: string; sentence: string }> = {
  totp_added: {
    subject: 'An authenticator app was added',
    sentence: 'Signing in needs a code of the app from now on. All other sessions have ended.',
  },
  totp_removed: {
    subject: 'The authenticator app was removed',
    sentence: 'Signing in no longer needs a code. The recovery codes no longer work.',
  },
  recovery_code_used: {
    subject: 'A recovery code was used',
    sentence: 'Somebody signed in with your password and a recovery code, which does not work again.',
  },
  second_factor_reset: {
    subject: 'The second factor was removed by an operator',
    sentence: 'Signing in needs your password alone. All sessions have ended.',
  },
  passkey_added: {
    subject: 'A passkey was added',
    sentence: 'It signs in without a password, and is one of your second factors.',
  },
  passkey_removed: {
    subject: 'A passkey was removed',
    sentence: 'It no longer signs in.',
  },
  passkey_refused: {
    subject: 'A passkey was refused',
    sentence:
      'Somebody used a passkey of yours which seems to be a copy: it has signed fewer times than before. Remove it ' +
      'unless you can explain that.',
  },
  identity_linked: {
    subject: 'An account at a provider was connected',
    sentence: 'It signs in without your password. Settings list the connected accounts.',
  },
  identity_removed: {
    subject: 'An account at a provider was disconnected',
    sentence: 'It no longer signs in.',
  },
}

/** Notifies a user that how they sign in has changed. `details`: the change. */
export function signInMail(baseUrl: string, { change }: MailDetails): MailContent {
  const { subject, sentence } = SIGN_IN_CHANGES[String(change)]!
  return write({
    subject: `${subject} (${PRODUCT})`,
    paragraphs: [`${subject}, of your account at ${baseUrl}.`, sentence],
    action: { label: 'Open settings', url: `${baseUrl}/settings` },
    closing: [
      'If that was not you, change your password now, and contact the operator of this service. If it was, you do ' +
        'not need to do anything.',
    ],
  })
}

/** Notifies the owner of a key that part of its budget is used. `keyName`: one line of the owner's own text. */
export function budgetMail(baseUrl: string, notice: BudgetNotice): MailContent {
  const { percent, used, credits, resetsAt } = notice
  const isSpent = percent === 100
  const { thing, who, spent, left, action } = ofBudget(baseUrl, notice)
  return write({
    subject: isSpent
      ? `The budget of a ${PRODUCT} ${thing} is spent`
      : `${percent}% of a ${PRODUCT} ${thing}'s budget is used`,
    paragraphs: [
      `${who} at ${baseUrl} has used ${counted(used)} of the ${counted(credits)} credits of its budget.`,
      isSpent ? spent : left,
      resetsAt
        ? `The budget resets at ${resetsAt.toISOString().slice(0, 16).replace('T', ' ')} UTC.`
        : 'This is a total budget: it does not reset.',
    ],
    action,
    closing: ['You get one such e-mail at 80% and one at 100% of a budget, each at most once per period.'],
  })
}

/** What a mail about a budget reports of a key, of its reader as a member, or of another member. */
function ofBudget(baseUrl: string, { whose }: BudgetNotice) {
  const myKeys = { label: 'Show my keys', url: `${baseUrl}/keys` }
  if ('key' in whose) {
    return {
      thing: 'key',
      who: `Your API key ${quoted(whose.key)}`,
      spent: 'Calls with this key are refused until the budget resets or you raise it. Your other keys keep working.',
      left: 'When the budget is spent, calls with this key are refused. Your other keys keep working.',
      action: myKeys,
    }
  }
  const { email, organisation, isYou } = whose
  const keys = `${isYou ? 'your' : 'their'} keys of this organisation`
  return {
    thing: 'member',
    who: `${isYou ? 'Your membership' : `The member ${email}`} of the organisation ${quoted(organisation)}`,
    spent: `Calls with ${keys} are refused until the budget resets or an admin raises it.`,
    left: `When the budget is spent, calls with ${keys} are refused.`,
    action: isYou ? myKeys : { label: 'Show the members', url: `${baseUrl}/members` },
  }
}

/** Invites somebody to an organisation, by the link. */
export function invitationMail(
  baseUrl: string,
  address: string,
  token: string,
  { organisation, invitedBy, role }: Pick<InvitationNotice, 'organisation' | 'invitedBy' | 'role'>,
): MailContent {
  const as = role === 'admin' ? 'an admin' : 'a member'
  return write({
    subject: `An invitation to an organisation at ${PRODUCT}`,
    paragraphs: [
      `${invitedBy} invites you to the organisation ${quoted(organisation)} at ${baseUrl}, as ${as}.`,
      `To accept, sign in with the address ${address}, or register with it, within 7 days:`,
    ],
    action: linkTo(baseUrl, 'invitation', 'Open the invitation', token),
    closing: ['The link works once. If you do not want to join, ignore this e-mail: nothing changes.'],
  })
}

/** A mail that shows that mails arrive. */
export function testMail(baseUrl: string, address: string): MailContent {
  return write({
    subject: `Test e-mail from ${PRODUCT}`,
    paragraphs: [
      `This is the test e-mail that was requested at ${baseUrl} for ${address}.`,
      'E-mail from this service reaches you.',
    ],
    closing: ['You do not need to do anything.'],
  })
}

/** A mail about money. `details` are those of its request. */
export const moneyMail = (baseUrl: string, kind: MoneyMailKind, details: MailDetails): MailContent =>
  write(MONEY_MAILS[kind](baseUrl, details))

/** Notifies the owner of a key what an operator did to its secret. `details`: the name and the hint of the key. */
export const keyMail = (baseUrl: string, { name, hint, secret }: MailDetails): MailContent =>
  write({
    subject: secret === 'ended' ? 'The secret of an API key was ended' : 'An API key got a new secret',
    paragraphs: [
      secret === 'ended'
        ? `An operator of ${baseUrl} ended the secret of your key ${quoted(String(name))} (${String(hint)}). ` +
          'Programs that use it are refused.'
        : `An operator of ${baseUrl} gave your key ${quoted(String(name))} a new secret (${String(hint)}).`,
      secret === 'ended'
        ? 'Make a new secret for it in the console. Its limits and its usage stay.'
        : 'If you do not know why, ask them, or make a new secret in the console.',
    ],
    action: { label: 'Open my keys', url: `${baseUrl}/keys` },
    closing: ['An operator cannot see the secret that you make.'],
  })

/** Notifies the owner of a webhook that it was disabled. `details`: its address, and why. */
export const webhookMail = (baseUrl: string, { url, reason }: MailDetails): MailContent =>
  write({
    subject: `A ${PRODUCT} webhook was disabled`,
    paragraphs: [
      reason === 'gone'
        ? `Your webhook ${String(url)} at ${baseUrl} answered 410 Gone, which means that it wants no more events.`
        : `No event could be delivered to your webhook ${String(url)} at ${baseUrl} for five days.`,
      'Nothing is sent there any more. What waited is kept for 30 days, and sent when you enable the webhook again.',
    ],
    closing: [`To enable it, send {"disabled": false} to it: see "Webhooks" at ${baseUrl}/docs.`],
  })

const balanceText = (credits: MailDetails[string] | undefined): string =>
  `Your account has ${counted(credits)} credits left. When they are used up, calls are refused.`

const creditsPage = (baseUrl: string) => ({ label: 'Open the credits page', url: `${baseUrl}/credits` })

const MONEY_MAILS: Record<MoneyMailKind, (baseUrl: string, details: MailDetails) => Draft> = {
  receipt: (baseUrl, { credits, amountMinor, currency, receiptUrl, kind }) => ({
    subject: `Receipt: ${counted(credits)} credits`,
    paragraphs: [
      `${kind === 'auto' ? 'Your automatic top-up' : 'Your purchase'} at ${baseUrl} was paid: ` +
        `${moneyText(Number(amountMinor), String(currency))} for ${counted(credits)} credits.`,
      'The credits are now in your account.',
    ],
    action: typeof receiptUrl === 'string' ? { label: 'Show the receipt', url: receiptUrl } : creditsPage(baseUrl),
    closing: ['You do not need to do anything.'],
  }),
  low_balance: (baseUrl, { credits, threshold }) => ({
    subject: `Your ${PRODUCT} balance is low`,
    paragraphs: [
      `Your account at ${baseUrl} has ${counted(credits)} credits left. ` +
        `You asked for an e-mail below ${counted(threshold)}.`,
      'Without credits, calls are refused.',
    ],
    action: creditsPage(baseUrl),
    closing: ['You get this e-mail once each time your balance falls below that number.'],
  }),
  top_up_failed: (baseUrl, { failure, credits }) => ({
    subject: 'Automatic top-up failed',
    paragraphs: [
      `Your automatic top-up at ${baseUrl} failed: ${failureWords(String(failure))} Nothing was paid.`,
      balanceText(credits),
      failure === MONTHLY_CAP
        ? 'It works again next month (UTC), or once you raise the cap. Until then, you can buy credits yourself.'
        : 'If the balance stays low, it is tried again in some hours; after three failures in a row it is turned off.',
    ],
    action: creditsPage(baseUrl),
    closing: [
      failure === MONTHLY_CAP ? 'You get this e-mail once a month.' : 'You get this e-mail once for failures in a row.',
    ],
  }),
  top_up_off: (baseUrl, { failure, credits }) => ({
    subject: 'Automatic top-up was turned off',
    paragraphs: [
      failure === CARD_GONE
        ? `Your automatic top-up at ${baseUrl} cannot go on: ${failureWords(CARD_GONE)}`
        : `Your automatic top-up at ${baseUrl} failed three times in a row: ${failureWords(String(failure))}`,
      'Automatic top-up is now off. Nothing was paid.',
      ...(credits === undefined ? [] : [balanceText(credits)]),
      'To turn it on again, first buy credits with a card that you save on the payment page.',
    ],
    action: creditsPage(baseUrl),
    closing: ['Until then, calls are refused when your balance is used up.'],
  }),
}
