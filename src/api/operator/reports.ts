/**
 * /api/operator: any call, the dead letters, the upstreams, and what operators did.
 */
import type { Middleware } from 'koa'
import { findOrigin, findRecord } from '../../shared/calls/records.ts'
import { ApiError } from '../../shared/errors.ts'
import { parseId } from '../../shared/ids.ts'
import { entriesOfCall } from '../../shared/ledger/ledger.ts'
import { listMails } from '../../shared/mail/mails.ts'
import { findAccount, upstreamsOfLastHour } from '../../shared/operators/accounts.ts'
import { listActions } from '../../shared/operators/actions.ts'
import { reviveLetters } from '../../shared/operators/changes.ts'
import { nudgeMail } from '../console/nudge.ts'
import type { WebDeps } from '../deps.ts'
import type { RequestState } from '../middleware/request-context.ts'

/** The most mails or actions of one answer. */
const LISTED = 100

/** Shows any call, what it moved, and whose it is. @throws ApiError not_found. */
export function showAnyCall({ db }: Pick<WebDeps, 'db'>): Middleware<RequestState> {
  return async (ctx) => {
    const id = parseId('call', ctx.params.id as string)
    const [call, origin] = id ? await Promise.all([findRecord(db, id), findOrigin(db, id)]) : [null, null]
    if (!id || !call || !origin) throw new ApiError('not_found')
    const [ledger, account] = await Promise.all([entriesOfCall(db, id), findAccount(db, origin.accountId)])
    ctx.body = { ok: true, call, startedAt: origin.startedAt, ledger, account }
  }
}

/** Lists the mails that were given up, newest first. */
export function showDeadMails({ db }: Pick<WebDeps, 'db'>): Middleware<RequestState> {
  return async (ctx) => {
    ctx.body = { ok: true, data: await listMails(db, ['dead'], LISTED) }
  }
}

/** Gives a dead letter all its tries again. @throws ApiError not_found for a mail that is not dead. */
export function retryMail({ db, log, queues }: Pick<WebDeps, 'db' | 'log' | 'queues'>): Middleware<RequestState> {
  return async (ctx) => {
    const id = parseId('mail', ctx.params.id as string)
    if (!id || (await reviveLetters(db, ctx.state.session!.accountId, id)) === 0) throw new ApiError('not_found')
    nudgeMail({ queues, log }, id)
    ctx.body = { ok: true }
  }
}

/** Shows how the upstreams did in the last hour. */
export function showUpstreams({ db }: Pick<WebDeps, 'db'>): Middleware<RequestState> {
  return async (ctx) => {
    ctx.body = { ok: true, data: await upstreamsOfLastHour(db) }
  }
}

/** Lists what operators did, newest first. */
export function showActions({ db }: Pick<WebDeps, 'db'>): Middleware<RequestState> {
  return async (ctx) => {
    ctx.body = { ok: true, data: await listActions(db, LISTED) }
  }
}
