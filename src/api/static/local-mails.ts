/**
 * /dev/mail: the mails that reach nobody, where there is no mail server and the service is for this machine alone. They
 * have links that open accounts: so the public address, the `Host` header and the peer must all be loopback.
 */
import type { Context, Middleware } from 'koa'
import { z } from 'zod'
import { hasLocalMails, readLocalMails } from '../../shared/mail/local-mails.ts'
import type { Config } from '../../shared/platform/config/config.ts'
import { ApiError } from '../../shared/platform/errors.ts'
import { LOOPBACK_ADDRESS, LOOPBACK_HOST } from '../../shared/platform/net/loopback.ts'
import { ok } from '../endpoint/answer-schemas.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'

/** @throws ApiError not_found for everybody but a client on this machine that asked for it by a local name. */
function requireLocal(ctx: Pick<Context, 'req'>): void {
  const { headers, socket } = ctx.req
  const host = URL.canParse(`http://${headers.host}`) ? new URL(`http://${headers.host}`).hostname : ''
  if (!LOOPBACK_HOST.test(host) || !LOOPBACK_ADDRESS.test(socket.remoteAddress ?? '')) throw new ApiError('not_found')
}

/** Lets those pass who may read the mails of this machine; not found for all others. */
export const admitLocal =
  (config: Pick<Config, 'SMTP_URL' | 'BASE_URL'>): Middleware =>
  (ctx, next) => {
    if (!hasLocalMails(config)) throw new ApiError('not_found')
    requireLocal(ctx)
    return next()
  }

/** Shows the newest mails that were not sent. */
export const showLocalMails = endpoint({
  method: 'get',
  path: '/api/dev/mails',
  tag: 'Mail',
  summary: 'List mails that were not sent, on a local installation',
  description:
    'Only without `SMTP_URL`, and if the public address, the `Host` header and the address of the client are all of ' +
    'this machine; otherwise 404.',
  offered: hasLocalMails,
  auth: null,
  answers: {
    200: {
      description: 'The newest 50, newest first.',
      schema: z.strictObject({
        ok,
        data: z.array(
          z.strictObject({ date: z.string(), to: z.string(), subject: z.string(), text: z.string() }).meta({
            id: 'LocalMail',
          }),
        ),
      }),
    },
  },
  errors: ['not_found'],
}).write(({ config }: Pick<WebDeps, 'config'>) => async (_input, ctx) => {
  requireLocal(ctx)
  ctx.set('Cache-Control', 'no-store')
  ctx.body = { ok: true, data: await readLocalMails(config.MAIL_FILE) }
})
