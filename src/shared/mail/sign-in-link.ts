/** The mail that completes a sign-in at a provider. Pure. */
import type { MailContent } from './render.ts'
import { PRODUCT, write } from './render.ts'
import { linkTo } from './templates.ts'

/** Lets the owner of an address complete a sign-in at a provider, which has not verified the address. */
export function signInLinkMail(baseUrl: string, address: string, token: string): MailContent {
  return write({
    subject: `Complete your sign-in to ${PRODUCT}`,
    paragraphs: [
      `Somebody signs in at ${baseUrl} through a provider, and gave the address ${address}.`,
      'If that is you, open this page within 10 minutes, in the browser in which you began:',
    ],
    action: linkTo(baseUrl, 'sign-in/mail', 'Complete the sign-in', token),
    closing: [
      'The link works once, and in no other browser.',
      'If that was not you, ignore this e-mail: nothing is connected to your account.',
    ],
  })
}
