/**
 * GET /api/account, GET /api/models and their latency: what the console shows on every page, and what it can call.
 */
import { z } from 'zod'
import { organisationOf } from '../../shared/identity/organisations.ts'
import { summaryOf } from '../../shared/identity/summary.ts'
import { latencyOfModels } from '../../shared/reports/latency.ts'
import type { Catalogue } from '../../shared/catalogue/catalogue.ts'
import { offerTo } from '../../shared/catalogue/catalogue.ts'
import { rateOf } from '../../shared/catalogue/packs.ts'
import { hasLocalMails } from '../../shared/mail/local-mails.ts'
import { cachedReading } from '../../shared/platform/process/cached.ts'
import { presentActingUser, requireMember } from '../../shared/identity/users.ts'
import { accountState, latency, listOf, modelList } from '../endpoint/answer-schemas.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { presentModels } from '../v1/models.ts'
import { session, visitor } from '../endpoint/auth.ts'
import { actingFor } from '../endpoint/member-schemas.ts'

const buyingOf = ({ PAYMENTS, CREDITS_HELP_URL }: WebDeps['config'], catalogue: Catalogue) => ({
  provider: PAYMENTS ?? null,
  help: CREDITS_HELP_URL ?? null,
  rate: PAYMENTS ? rateOf(catalogue) : null,
})

/** Shows who is logged in, their role, the balance, and the credits held by open calls. */
export const showState = endpoint({
  method: 'get',
  path: '/api/account',
  tag: 'Account',
  summary: "Show the account's balance",
  auth: session,
  answers: {
    200: {
      description: 'The account, its role, its balance, and the credits held by open calls.',
      schema: accountState.extend(actingFor),
    },
  },
}).handle(({ db, config, catalogue }: Pick<WebDeps, 'db' | 'config' | 'catalogue'>) => async ({ auth }) => {
  const [user, organisation, standing] = await Promise.all([
    requireMember(db, auth),
    organisationOf(db, auth),
    summaryOf(db, auth.accountId),
  ])
  return {
    ok: true,
    user: presentActingUser(user),
    role: user.role,
    organisation,
    ...standing!,
    buying: buyingOf(config, catalogue.current()),
    localMails: hasLocalMails(config),
  }
})

/** Lists the models for a session token. */
export const showModels = endpoint({
  method: 'get',
  path: '/api/models',
  tag: 'Records',
  summary: 'List the models',
  description:
    "The models of `GET /v1/models`, at the price of the account's group, without what only other clients read. With " +
    '`PUBLIC_CATALOGUE=on` also without a token: then at the prices of accounts without a group.',
  auth: visitor,
  answers: { 200: { description: 'The models that can be called.', schema: modelList } },
}).handle(({ catalogue }: Pick<WebDeps, 'catalogue'>) => ({ auth }) => ({
  ok: true,
  object: 'list',
  data: presentModels(offerTo(catalogue.current(), auth ?? { group: null })),
}))

/** How long the latency of models is cached, in ms. */
const CACHE_MS = 60_000

/** Shows how long the models took, for all callers. */
export const showModelLatency = endpoint({
  method: 'get',
  path: '/api/models/latency',
  tag: 'Records',
  summary: 'Show the latency of the models',
  description:
    'From acceptance to end, of the calls of all accounts that succeeded in the last 24 hours. Of an hour with ' +
    'hundreds of calls, only the newest are read. A model without such calls is missing. May be a minute old.',
  auth: session,
  answers: {
    200: {
      description: 'The median and the 95th percentile of each model.',
      schema: listOf(z.strictObject({ model: z.string(), ...latency })),
    },
  },
}).handle(({ db, catalogue }: Pick<WebDeps, 'db' | 'catalogue'>) => {
  const read = cachedReading({ forMs: CACHE_MS }, () => latencyOfModels(db))
  return async ({ auth }) => {
    const offered = new Set(presentModels(offerTo(catalogue.current(), auth)).map(({ id }) => id))
    return { ok: true, data: (await read()).filter(({ model }) => offered.has(model)) }
  }
})
