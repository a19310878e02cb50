/**
 * /api/operator: any call, the dead letters, the upstreams, and what operators did.
 */
import { z } from 'zod'
import { findOrigin, findRecord } from '../../shared/calls/records.ts'
import { ApiError } from '../../shared/errors.ts'
import { entriesOfCall } from '../../shared/ledger/ledger.ts'
import { MAIL_KINDS, listMails } from '../../shared/mail/mails.ts'
import { findAccount, upstreamsOfLastHour } from '../../shared/operators/accounts.ts'
import { listActions } from '../../shared/operators/actions.ts'
import { requeueDeadMails } from '../../shared/operators/changes.ts'
import { callWithLedger, done, id, listOf, time } from '../answers.ts'
import { enqueueMail } from '../console/enqueue-mail.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint.ts'
import { pathId } from '../path-id.ts'
import { operator } from '../who.ts'
import { operatedAccount, operatorAction } from './answers.ts'

/** The most mails or actions of one answer. */
const LISTED = 100

const declared = { tag: 'Operators', who: operator } as const

/** Shows any call, what it moved, and whose it is. */
export const showAnyCall = endpoint({
  ...declared,
  method: 'get',
  path: '/api/operator/calls/:id',
  summary: 'Show any call',
  params: pathId('call', 'The `id` of a call.'),
  answers: {
    200: {
      description: 'The call, its ledger entries and its account.',
      schema: callWithLedger.extend({ account: operatedAccount.nullable() }),
    },
  },
  errors: [],
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ params }) => {
  const [call, origin] = await Promise.all([findRecord(db, params.id), findOrigin(db, params.id)])
  if (!call || !origin) throw new ApiError('not_found')
  const [ledger, account] = await Promise.all([entriesOfCall(db, params.id), findAccount(db, origin.accountId)])
  return { ok: true, call, startedAt: origin.startedAt, ledger, account }
})

const deadMail = z
  .strictObject({
    id: id('mail'),
    kind: z.enum(MAIL_KINDS),
    recipient: z.string(),
    status: z.literal('dead'),
    tries: z.int(),
    note: z.string().nullable().meta({ description: 'Why the last attempt failed.' }),
    createdAt: time,
    finishedAt: time.nullable(),
    nextTryAt: time.nullable(),
  })
  .meta({ id: 'DeadMail' })

/** Lists the mails that were given up, newest first. */
export const showDeadMails = endpoint({
  ...declared,
  method: 'get',
  path: '/api/operator/mails',
  summary: 'List dead letters',
  answers: { 200: { description: 'At most 100, newest first.', schema: listOf(deadMail) } },
  errors: [],
}).handle(({ db }: Pick<WebDeps, 'db'>) => async () => ({ ok: true, data: await listMails(db, ['dead'], LISTED) }))

/** Gives a dead letter all its tries again. */
export const retryMail = endpoint({
  ...declared,
  method: 'post',
  path: '/api/operator/mails/:id/retry',
  summary: 'Retry a dead letter',
  description: 'Queues the mail again with a full set of tries.',
  params: pathId('mail', 'The `id` of a mail.'),
  body: 'ignored',
  answers: { 200: { description: 'The mail has been queued.', schema: done } },
  errors: [],
}).handle(({ db, log, queues }: Pick<WebDeps, 'db' | 'log' | 'queues'>) => async ({ who, params }) => {
  if ((await requeueDeadMails(db, who.userId, params.id)) === 0) throw new ApiError('not_found')
  enqueueMail({ queues, log }, params.id)
  return { ok: true }
})

const upstreamReport = z
  .strictObject({
    upstream: z.string(),
    calls: z.int(),
    failed: z.int(),
    latencyMs: z.int().nullable().meta({ description: 'The median, in milliseconds.' }),
    lastCallAt: time,
  })
  .meta({ id: 'UpstreamReport' })

/** Shows how the upstreams did in the last hour. */
export const showUpstreams = endpoint({
  ...declared,
  method: 'get',
  path: '/api/operator/upstreams',
  summary: 'Show the health of upstreams',
  answers: { 200: { description: 'Upstreams that had calls in the last hour.', schema: listOf(upstreamReport) } },
  errors: [],
}).handle(({ db }: Pick<WebDeps, 'db'>) => async () => ({ ok: true, data: await upstreamsOfLastHour(db) }))

/** Lists what operators did, newest first. */
export const showActions = endpoint({
  ...declared,
  method: 'get',
  path: '/api/operator/actions',
  summary: 'List operator actions',
  answers: { 200: { description: 'At most 100, newest first.', schema: listOf(operatorAction) } },
  errors: [],
}).handle(({ db }: Pick<WebDeps, 'db'>) => async () => ({ ok: true, data: await listActions(db, LISTED) }))
