/**
 * /api/operator/accounts: finding accounts, granting credits, suspending and activating.
 */
import type { Middleware } from 'koa'
import { z } from 'zod'
import { standingOf } from '../../shared/accounts/standing.ts'
import { listCalls } from '../../shared/calls/call-list.ts'
import { ApiError } from '../../shared/errors.ts'
import type { AccountId } from '../../shared/ids.ts'
import { newId, parseId, publicId } from '../../shared/ids.ts'
import { MAX_GRANT_CREDITS, ORIGINS, listGrants } from '../../shared/ledger/ledger.ts'
import { findAccount, findAccounts } from '../../shared/operators/accounts.ts'
import { listActions } from '../../shared/operators/actions.ts'
import { grantCredits, putStatus } from '../../shared/operators/changes.ts'
import { line, moment, parseFields, startOf } from '../console/fields.ts'
import type { WebDeps } from '../deps.ts'
import { bodyOf } from '../middleware/json-body.ts'
import type { RequestState } from '../middleware/request-context.ts'

/** How much of each an operator sees at once. */
const LISTED = 50
const LATEST = 20

export const accountsQuery = z.object({
  search: z
    .string({ error: 'is given once' })
    .max(254, 'is longer than any address')
    .refine((text) => text.isWellFormed() && !text.includes('\0'), 'is no text')
    .default('')
    .meta({ description: 'A part of an address, or the id of an account.' }),
})

/** Finds accounts by a part of their address or by their id, the newest first. */
export function searchAccounts({ db }: Pick<WebDeps, 'db'>): Middleware<RequestState> {
  return async (ctx) => {
    const { search } = parseFields(accountsQuery, ctx.query)
    ctx.body = { ok: true, data: await findAccounts(db, search.trim(), LISTED) }
  }
}

/** Shows one account with its grants, its latest calls and what operators did to it. @throws ApiError not_found. */
export function showOperated({ db }: Pick<WebDeps, 'db'>): Middleware<RequestState> {
  return async (ctx) => {
    const id = idOf(ctx.params.id as string)
    const [account, standing, grants, calls, actions] = await Promise.all([
      findAccount(db, id),
      standingOf(db, id),
      listGrants(db, id),
      listCalls(db, id, {}, LATEST, null),
      listActions(db, LATEST, id),
    ])
    if (!account || !standing) throw new ApiError('not_found')
    ctx.body = {
      ok: true,
      account,
      held: standing.held,
      openCalls: standing.openCalls,
      grants,
      calls: calls.calls,
      actions,
    }
  }
}

const GRANTABLE = ORIGINS.filter((origin) => origin !== 'signup')

export const grantBody = z
  .object({
    amount: z
      .int({ error: 'is a whole number' })
      .min(1, 'is at least 1')
      .max(MAX_GRANT_CREDITS, `is at most ${MAX_GRANT_CREDITS}`),
    origin: z.enum(GRANTABLE, { error: `is one of ${GRANTABLE.join(', ')}` }),
    note: line(200)
      .nullish()
      .transform((note) => note?.trim() || null)
      .meta({ description: 'Why; the account sees it.' }),
    expiresAt: moment
      .nullish()
      .transform((text) => (text ? startOf(text) : null))
      .meta({ description: 'From then on the rest is lost; never where absent.' }),
  })
  .meta({ id: 'OperatorGrantRequest' })

/** Gives credits. @throws ApiError not_found, invalid_request. */
export function giveCredits({ db, replies }: Pick<WebDeps, 'db' | 'replies'>): Middleware<RequestState> {
  return async (ctx) => {
    const accountId = idOf(ctx.params.id as string)
    const fields = parseFields(grantBody, bodyOf(ctx))
    if (fields.expiresAt && fields.expiresAt.getTime() <= Date.now()) {
      throw new ApiError('invalid_request', { param: 'expiresAt', message: 'expiresAt: lies in the past' })
    }
    if (!(await findAccount(db, accountId))) throw new ApiError('not_found')
    const id = newId('grant')
    const credits = await grantCredits(db, ctx.state.session!.accountId, { id, accountId, ...fields })
    replies.tell(accountId, { callId: null, balance: credits })
    ctx.body = { ok: true, grantId: publicId('grant', id), credits }
  }
}

/** Suspends or activates an account. @throws ApiError not_found; invalid_request for the operator's own. */
export function changeStanding({ db }: Pick<WebDeps, 'db'>, status: 'active' | 'suspended'): Middleware<RequestState> {
  return async (ctx) => {
    const id = idOf(ctx.params.id as string)
    const operator = ctx.state.session!.accountId
    if (id === operator)
      throw new ApiError('invalid_request', { message: 'You cannot suspend or activate your own account.' })
    if (!(await putStatus(db, operator, id, status))) throw new ApiError('not_found')
    ctx.body = { ok: true, account: await findAccount(db, id) }
  }
}

function idOf(text: string): AccountId {
  const id = parseId('account', text)
  if (!id) throw new ApiError('not_found')
  return id
}
