/** second-factor reset · login-link */
import { readAddress } from '../../shared/platform/config/config.ts'
import { publicId } from '../../shared/platform/ids.ts'
import { makeLoginLink } from '../../shared/sign-in/login-links.ts'
import { resetSecondFactor } from '../../shared/sign-in/second-factor.ts'
import type { Command } from '../command.ts'
import { accountOf, claimedAccountOf } from '../command.ts'

/** For people who have lost what they sign in with. */
export const signInCommands: Command[] = [
  {
    usage: 'second-factor reset <email>',
    summary: 'Remove the second factors of somebody who has lost them, and end their sessions. They are notified.',
    run: async (db, [email]) => {
      const user = await accountOf(db, email)
      const mailId = publicId('mail', await resetSecondFactor(db, null, user))
      return {
        json: { mailId },
        text: `Signing in as ${user.email} needs the password alone. All sessions have ended.`,
      }
    },
  },
  {
    usage: 'login-link <email>',
    summary:
      'Print a link that signs somebody in whose provider is gone: once, within 15 minutes. It stands for the ' +
      'password: a second factor is asked for.',
    run: async (db, [email]) => {
      const user = await claimedAccountOf(db, email)
      const link = `${readAddress().BASE_URL}/sign-in/mail#token=${await makeLoginLink(db, null, user)}`
      return { json: { link }, text: `${link}\nIt signs in as ${user.email}, once, within 15 minutes.` }
    },
  },
]
