/**
 * Fields of accounts. Where a fault has a code of its own, the schema names it as its message (see `parseFields`).
 */
import { z } from 'zod'
import { parseEmail } from '../../shared/terms/emails.ts'
import type { OwnProof } from '../../shared/identity/passwords.ts'
import { newPasswordFault } from '../../shared/identity/passwords.ts'
import type { LiveSession } from '../../shared/identity/sessions.ts'
import type { Config } from '../../shared/platform/config/config.ts'
import type { ErrorCode } from '../../shared/platform/errors.ts'
import { line, shownName } from '../../shared/platform/text-fields.ts'

/** An address; it comes out lowercased. */
export const emailAddress = z
  .string({ error: 'invalid_email' })
  .transform((text, context) => {
    const email = parseEmail(text)
    if (email !== null) return email
    context.addIssue({ code: 'custom', message: 'invalid_email' })
    return z.NEVER
  })
  .meta({ description: 'ASCII, at most 254 characters; stored lowercased.', examples: ['ada@example.com'] })

/** A password that is to be set. */
export const newPassword = z
  .string({ error: 'password_too_short' })
  .superRefine((text, context) => {
    const fault = newPasswordFault(text)
    if (fault === 'invalid_request')
      context.addIssue({ code: 'custom', message: 'contains a character that cannot be stored' })
    else if (fault) context.addIssue({ code: 'custom', message: fault })
  })
  .meta({ description: '8 to 72 characters, with at least one letter and one digit.', examples: ['correct horse 1'] })

/** How the user of a session proves themselves by a request. */
export const ownProof = (
  config: Pick<Config, 'PASSWORDS'>,
  { isFresh }: Pick<LiveSession, 'isFresh'>,
  { password }: { password?: string | undefined },
): OwnProof => ({ password, isFresh, usesPasswords: byPasswords(config) })

/** The password of who is signed in, as a proof. */
export const ownPassword = z
  .string()
  .optional()
  .meta({
    description:
      'Required, unless you have none that signs you in: then you must have signed in or proved yourself within 5 ' +
      'minutes.',
  })

/** The codes of a password that cannot be set. */
export const PASSWORD_ERRORS = [
  'password_too_short',
  'password_too_long',
  'password_needs_letter_and_digit',
  'invalid_request',
] as const satisfies ErrorCode[]

/**
 * A password that is checked only where its link is valid (see `resetPassword`). Anything but a text counts as empty.
 */
export const passwordOfReset = z
  .string()
  .catch('')
  .meta({
    ...newPassword.meta(),
    override: ({ jsonSchema }: { jsonSchema: object }) => {
      Object.assign(jsonSchema, { default: undefined })
    },
  })

/** The token of a mailed link. Anything else is an invalid token. */
export const mailedToken = z
  .string({ error: 'invalid_token' })
  .meta({ description: 'The part after `#token=` in the mailed link.' })

/** A name that others see, at most 60 code points; null is the same as leaving it out. */
export const displayName = shownName(60)
  .nullish()
  .transform((value) => value ?? undefined)

const MAX_URL = 2048

/** An https address, or empty. */
export const avatarUrl = line(MAX_URL)
  .refine(
    (text) => text === '' || (/^https:\/\/[^/\s]/i.test(text) && !/\s/.test(text) && URL.canParse(text)),
    'must be an https address or empty',
  )
  .nullish()
  .transform((value) => value ?? undefined)

/** Whether people sign in by passwords here. */
export const byPasswords = ({ PASSWORDS }: Pick<Config, 'PASSWORDS'>): boolean => PASSWORDS === 'on'

/** What the declarations of endpoints to which mailed links lead have in common. */
export const ofLink = {
  method: 'post',
  tag: 'Account',
  auth: null,
  limits: [{ limit: 'links', per: 'client' }],
} as const
