/**
 * /api/operator/mails: the dead letters.
 */
import { z } from 'zod'
import { ApiError } from '../../shared/platform/errors.ts'
import type { MailId } from '../../shared/platform/ids.ts'
import { parseId } from '../../shared/platform/ids.ts'
import { MAIL_KINDS, listMails } from '../../shared/mail/mails.ts'
import { discardDeadMails, requeueDeadMails } from '../../shared/operators/changes.ts'
import { done, id, pageOf, time } from '../endpoint/answer-schemas.ts'
import { createCursors } from '../console/cursors.ts'
import { enqueueMail } from '../console/enqueue-mail.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { pageCursor, pageLimit, pathId } from '../endpoint/fields.ts'
import { operator } from '../endpoint/auth.ts'

const declared = { tag: 'Operators', auth: operator } as const

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
  views: 'accounts',
  method: 'get',
  path: '/api/operator/mails',
  summary: 'List dead letters',
  query: z.object({ limit: pageLimit, cursor: pageCursor }),
  answers: { 200: { description: 'A page of them, newest first.', schema: pageOf(deadMail) } },
}).handle(({ db, config }: Pick<WebDeps, 'db' | 'config'>) => {
  const cursors = createCursors(config.APP_SECRET, 'dead mails')
  return async ({ auth: { accountId }, query: { limit, cursor } }) => {
    const before = cursor === undefined ? null : (cursors.read(accountId, cursor) as MailId)
    const found = await listMails(db, ['dead'], limit + 1, before)
    const data = found.slice(0, limit)
    const place = found.length > limit ? parseId('mail', data.at(-1)!.id) : null
    return { ok: true, data, nextCursor: cursors.write(accountId, place) }
  }
})

/** Gives a dead letter all its tries again. */
export const retryMail = endpoint({
  ...declared,
  views: 'recorded',
  method: 'post',
  path: '/api/operator/mails/:id/retry',
  summary: 'Retry a dead letter',
  description: 'Queues the mail again with a full set of attempts.',
  params: pathId('mail', 'The `id` of a mail.'),
  body: 'ignored',
  answers: { 200: { description: 'The mail has been queued.', schema: done } },
}).handle(({ db, log, queues }: Pick<WebDeps, 'db' | 'log' | 'queues'>) => async ({ auth, params }) => {
  if ((await requeueDeadMails(db, auth.userId, params.id)) === 0) throw new ApiError('not_found')
  enqueueMail({ queues, log }, params.id)
  return { ok: true }
})

/** Gives up on a dead letter. */
export const discardMail = endpoint({
  ...declared,
  views: 'recorded',
  method: 'delete',
  path: '/api/operator/mails/:id',
  summary: 'Discard a dead letter',
  description: 'It is not sent any more, and deleted in two days.',
  params: pathId('mail', 'The `id` of a mail.'),
  answers: { 200: { description: 'The mail has been discarded.', schema: done } },
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ auth, params }) => {
  if ((await discardDeadMails(db, auth.userId, params.id)) === 0) throw new ApiError('not_found')
  return { ok: true }
})
