/**
 * What the endpoints have in common that let somebody in: from where they come, the second step, and an account at a
 * provider that waits to be connected.
 */
import { z } from 'zod'
import { networkHash } from '../../shared/identity/login.ts'
import type { SignupTerms } from '../../shared/identity/signup-credits.ts'
import { signupTerms } from '../../shared/identity/signup-credits.ts'
import type { UserFields } from '../../shared/identity/users.ts'
import type { ErrorCode } from '../../shared/platform/errors.ts'
import type { MailId, SessionId } from '../../shared/platform/ids.ts'
import type { Trx } from '../../shared/platform/postgres/db.ts'
import { FACTORS } from '../../shared/sign-in/factors.ts'
import { requireWaiting } from '../../shared/sign-in/provider-sign-in.ts'
import type { From } from '../../shared/sign-in/second-factor.ts'
import { settle } from '../../shared/sign-in/settle.ts'
import { ok } from '../endpoint/answer-schemas.ts'
import type { RequestFacts } from '../endpoint/declaration.ts'
import type { WebDeps } from '../deps.ts'

/** From where a request comes. */
export const fromOf = ({ APP_SECRET }: WebDeps['config'], request: RequestFacts): From => {
  const device = request.device()
  return { device, network: networkHash(APP_SECRET, device.ip) }
}

/** What a login answers that waits for its second step. */
export const secondStep = z
  .strictObject({
    ok,
    secondFactor: z.array(z.enum(FACTORS)).meta({ description: 'What the login can be completed with.' }),
    ticket: z.string().meta({ description: 'For `POST /api/auth/second-factor`, once, within 5 minutes.' }),
  })
  .meta({ id: 'SecondStep' })

/** What is granted to a new user, whose address is proved already: the sign-up credits at once. */
export const providerTerms = (config: WebDeps['config']): SignupTerms => ({
  ...signupTerms(config, 'verification'),
  signupCredits: config.SIGNUP_CREDITS,
})

/** The codes of what links a pending identity. */
export const LINK_ERRORS = ['invalid_ticket', 'forbidden', 'identity_taken'] as const satisfies ErrorCode[]

/** Of a sign-in: it links what waits in this browser to be connected. */
export const pendingFlag = z.boolean({ error: 'must be true or false' }).optional().meta({
  description: 'Connects the account at a provider that waits in this browser; 401 `invalid_ticket` if none does.',
})

/** What waits in a browser to be linked by a login, and the mails about it. @throws as `requireWaiting`. */
export async function pendingOf(deps: Pick<WebDeps, 'config' | 'db' | 'providers'>, request: RequestFacts) {
  const id = await requireWaiting(deps, request.browser())
  const mailIds: MailId[] = []
  const link = async (trx: Trx, user: UserFields, sessionId: SessionId): Promise<void> => {
    mailIds.push(...(await settle(trx, user, { pendingId: id, sessionId }, providerTerms(deps.config))))
  }
  return { id, link, mailIds }
}
