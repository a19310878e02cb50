/**
 * /api/auth/sign-in, /auth/callback: signing in at a provider (docs/sign-in.md#providers).
 */
import type { Context } from 'koa'
import { z } from 'zod'
import { invitationHash } from '../../shared/identity/invitations.ts'
import { createTokenMint } from '../../shared/identity/one-time-tokens.ts'
import type { LiveSession } from '../../shared/identity/sessions.ts'
import { presentUser } from '../../shared/identity/users.ts'
import { ApiError } from '../../shared/platform/errors.ts'
import { factorNames, factorsOf } from '../../shared/sign-in/factors.ts'
import { lastIssuerOf } from '../../shared/sign-in/identities.ts'
import { beginAttempt, spendAttempt, storePending } from '../../shared/sign-in/pending.ts'
import type { ProviderClient } from '../../shared/sign-in/provider-client.ts'
import type { Outcome } from '../../shared/sign-in/provider-sign-in.ts'
import { finishSignIn, requestSignInMail, signInByMail } from '../../shared/sign-in/provider-sign-in.ts'
import { messageAnswer, ok, signedIn } from '../endpoint/answer-schemas.ts'
import type { RequestFacts } from '../endpoint/declaration.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import type { WebDeps } from '../deps.ts'
import { emailAddress, mailedToken, ofLink } from './account-fields.ts'
import { enqueueMail } from './enqueue-mail.ts'
import { fromOf, providerTerms, secondStep } from './entering.ts'
import { logSecurity } from './security-log.ts'

const tag = 'Account'

/** Where a browser comes back to; the page asks what follows. */
const DONE = '/sign-in/done'

/** A configured provider. @throws ApiError not_found. */
export function requireProvider({ providers }: Pick<WebDeps, 'providers'>, id: string): ProviderClient {
  const provider = providers.get(id)
  if (!provider) throw new ApiError('not_found')
  return provider
}

/** Where the user of a session proves themselves: at the provider of theirs that they used last. @throws conflict. */
export async function proveAtProvider(
  { db, providers }: Pick<WebDeps, 'db' | 'providers'>,
  { userId, sessionId }: Pick<LiveSession, 'userId' | 'sessionId'>,
  request: RequestFacts,
): Promise<string> {
  const all = [...providers.values()]
  const issuers = all.map(({ issuer }) => issuer)
  const issuer = await lastIssuerOf(db, userId, issuers)
  const client = all.find((one) => one.issuer === issuer)
  if (!client) throw new ApiError('conflict', { message: 'You have connected no account at a provider.' })
  const state = await beginAttempt(db, client.id, request.bindBrowser(), { purpose: 'proof', sessionId })
  return (await client.addressFor(state, { again: true })).href
}

/** Lists how people can sign in. */
const showProviders = endpoint({
  tag,
  auth: null,
  method: 'get',
  path: '/api/auth/providers',
  summary: 'List the providers',
  answers: {
    200: {
      description: 'The providers at which people can sign in, and whether they can by a password.',
      schema: z.strictObject({
        ok,
        data: z.array(z.strictObject({ id: z.string(), label: z.string() })),
        passwords: z.boolean(),
      }),
    },
  },
}).handle(({ providers, config }: Pick<WebDeps, 'providers' | 'config'>) => {
  const data = Array.from(providers.values(), ({ id, label }) => ({ id, label }))
  return () => ({ ok: true, data, passwords: config.PASSWORDS === 'on' })
})

const provider = z.object({ provider: z.string().meta({ description: 'The `id` of a provider.' }) })

/** Answers that lead a browser elsewhere, and are not stored. */
const LEADS = {
  200: { description: 'Never.' },
  303: { description: 'Elsewhere: see `Location`.' },
} as const

function lead(ctx: Context, to: string): void {
  ctx.set('Cache-Control', 'no-store')
  ctx.status = 303
  ctx.redirect(to)
}

/** Runs a step that a browser has been led to: a refusal is a page there, and an error for a program. */
async function step({ log }: Pick<WebDeps, 'log'>, ctx: Context, work: () => Promise<string>): Promise<void> {
  try {
    lead(ctx, await work())
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const { name = '', code = '' } = (error.cause ?? {}) as { name?: string; code?: string }
    if (error.cause)
      log.warn({ code: error.code, cause: `${name} ${code}`, path: ctx.path }, 'sign-in at a provider failed')
    if (ctx.accepts('json', 'html') !== 'html') throw error
    lead(ctx, `${DONE}?problem=${error.code}`)
  }
}

/** Begins to sign in at a provider. */
const beginAtProvider = endpoint({
  tag,
  auth: null,
  method: 'get',
  path: '/api/auth/sign-in/:provider',
  summary: 'Sign in at a provider',
  description: 'Leads the browser to the provider, which leads it back. Within 10 minutes, in this browser alone.',
  limits: [{ limit: 'logins', per: 'client' }],
  params: provider,
  query: z.object({
    invitation: z
      .string({ error: 'must appear only once' })
      .optional()
      .meta({ description: 'The token of an invitation, which the sign-in accepts.' }),
  }),
  answers: LEADS,
  errors: ['not_found', 'service_unavailable'],
}).write((deps: Pick<WebDeps, 'db' | 'log' | 'providers'>) => async ({ params, query, request }, ctx) => {
  await step(deps, ctx, async () => {
    const client = requireProvider(deps, params.provider)
    const hash = invitationHash(query.invitation ?? '')
    const aim = { purpose: 'sign_in', sessionId: null, invitationHash: hash } as const
    const state = await beginAttempt(deps.db, client.id, request.bindBrowser(), aim)
    return (await client.addressFor(state)).href
  })
})

const once = z.string({ error: 'must appear only once' }).max(4096).optional()

/** Where providers lead browsers back to. */
const comeBack = endpoint({
  tag,
  auth: null,
  method: 'get',
  path: '/auth/callback/:provider',
  summary: 'Come back from a provider',
  description: `For providers. Leads to \`${DONE}\`, a page that asks \`POST /api/auth/sign-in/finish\`.`,
  limits: [{ limit: 'links', per: 'client' }],
  params: provider,
  query: z.object({ state: once, code: once, error: once, iss: once }),
  answers: LEADS,
  errors: ['not_found', 'invalid_ticket', 'invalid_credentials', 'service_unavailable'],
}).write((deps: Pick<WebDeps, 'db' | 'log' | 'providers'>) => async ({ params, query, request }, ctx) => {
  await step(deps, ctx, async () => {
    const client = requireProvider(deps, params.provider)
    const browser = request.browser()
    const state = query.state ?? ''
    const spent = await spendAttempt(deps.db, { state, provider: client.id, browser })
    if (!spent) throw new ApiError('invalid_ticket')
    const { attempt, begunAt } = spent
    const claims = await client.claimsOf(ctx.querystring, state, attempt.purpose === 'proof' ? begunAt : null)
    await storePending(deps.db, { provider: client.id, browser: request.bindBrowser() }, claims, attempt)
    return DONE
  })
})

const waiting = z.strictObject({
  ok,
  pending: z
    .strictObject({ provider: z.string(), email: z.string() })
    .meta({ description: 'An account has this address: prove it, by a login with `pending`, or by a mail.' }),
})

const outcome = z.union([
  signedIn,
  secondStep,
  waiting,
  z.strictObject({ ok, needs: z.literal('email').meta({ description: 'An address is to be proved by a mail.' }) }),
  z.strictObject({ ok, done: z.enum(['linked', 'proved']) }),
])

type FinishDeps = Pick<WebDeps, 'config' | 'db' | 'log' | 'queues' | 'providers'>

/** The answer to what follows. */
async function answerOf(deps: FinishDeps, request: RequestFacts, { mailIds, ...follows }: Outcome) {
  for (const mailId of mailIds) enqueueMail(deps, mailId)
  if ('pending' in follows || 'needs' in follows) return { ok: true as const, ...follows }
  const { user } = follows
  if ('done' in follows) {
    logSecurity(deps.log, request, follows.done === 'linked' ? 'identity_linked' : 'proved', user.account_id)
    return { ok: true as const, done: follows.done }
  }
  if ('ticket' in follows) {
    logSecurity(deps.log, request, 'second_factor_asked', user.account_id)
    return { ok: true as const, ticket: follows.ticket, secondFactor: factorNames(await factorsOf(deps.db, user.id)) }
  }
  logSecurity(deps.log, request, 'logged_in', user.account_id)
  return { ok: true as const, token: follows.token, user: presentUser(user) }
}

const ENTRY_ERRORS = ['account_suspended', 'forbidden', 'identity_taken', 'conflict'] as const

/** What follows once the browser is back. */
const finish = endpoint({
  ...ofLink,
  path: '/api/auth/sign-in/finish',
  summary: 'Finish a sign-in at a provider',
  description: 'Once, within 5 minutes, in the browser that has come back.',
  body: 'ignored',
  answers: { 200: { description: 'A session, or what is asked for first.', schema: outcome } },
  errors: ['invalid_ticket', 'invalid_credentials', 'unauthorized', ...ENTRY_ERRORS],
}).handle((deps: FinishDeps) => {
  const terms = providerTerms(deps.config)
  return async ({ request }) =>
    answerOf(deps, request, await finishSignIn({ ...deps, terms }, request.browser(), fromOf(deps.config, request)))
})

/** Asks for the mail that proves an address. */
const askForMail = endpoint({
  tag,
  auth: null,
  method: 'post',
  path: '/api/auth/sign-in/email',
  summary: 'Prove an address to finish a sign-in',
  description:
    'Where `finish` asks for an address, or for the proof of one. The answer is the same whether the address has an ' +
    'account or not. The link works once, within 10 minutes of the sign-in, in this browser.',
  limits: [{ limit: 'forgots', per: 'client' }],
  body: z.object({ email: emailAddress }).meta({ id: 'SignInEmailRequest' }),
  answers: { 200: { description: 'A link was sent.', schema: messageAnswer } },
  errors: ['invalid_email', 'invalid_request', 'invalid_ticket'],
}).handle((deps: Pick<WebDeps, 'config' | 'db' | 'log' | 'queues'>) => {
  const mint = createTokenMint(deps.config.APP_SECRET)
  return async ({ body: { email }, request }) => {
    enqueueMail(deps, await requestSignInMail(deps.db, request.browser(), email, (id) => mint('sign_in', id)))
    return { ok: true, message: `A link has been sent to ${email}. Open it in this browser.` }
  }
})

/** Signs in by a link: of such a mail, or of an operator. */
const signInByLink = endpoint({
  ...ofLink,
  path: '/api/auth/sign-in/mail',
  summary: 'Sign in by a link',
  description: 'Of a mail that `POST /api/auth/sign-in/email` asked for, or of an operator (`admin login-link`).',
  body: z.object({ token: mailedToken }).meta({ id: 'SignInLinkRequest' }),
  answers: { 200: { description: 'A session, or what is asked for first.', schema: outcome } },
  errors: ['invalid_token', ...ENTRY_ERRORS],
}).handle((deps: FinishDeps) => {
  const terms = providerTerms(deps.config)
  return async ({ body, request }) => {
    const from = fromOf(deps.config, request)
    return answerOf(deps, request, await signInByMail({ ...deps, terms }, request.bindBrowser(), body.token, from))
  }
})

/** All of them. */
export const providerEndpoints = [showProviders, finish, askForMail, signInByLink, beginAtProvider, comeBack] as const
